// Archives in the form of Stasm's sources, with other numbers.
#pragma once

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace cuface::test {

using StasmFiles = std::map<std::string, std::string>;

inline std::string stasm_list(int count, unsigned& seed) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    char number[32];
    seed = seed * 1664525 + 1013904223;
    std::snprintf(number, sizeof number, "%s%.6g", i ? ", " : "",
                  (static_cast<double>(seed >> 8) / (1 << 23) - 1));
    text += number;
  }
  return text + "}";
}

/// By path below src/, as small as the form allows: 2 levels.
inline StasmFiles stasm_files() {
  unsigned seed = 1;
  StasmFiles f;
  const std::string head = "// static const int EYEMOUTH_DIST = 7;\n#ifndef A\n#define A\n";
  f["asm.h"] = head +
               "static const int EYEMOUTH_DIST = 100; static const double PYR_RATIO = 2;\n"
               "static const int N_PYR_LEVS = 2; static const int SHAPEMODEL_ITERS = 4;";
  f["misc.h"] = "static const double XJITTER = .1;";
  f["shapemod.cpp"] = "static const int SHAPEHACK_MINPYRLEV = 1; // coarse";
  f["startshape.cpp"] = "static const double FACERECT_SCALE_WHEN_NO_EYES = .95;";
  f["startshape.h"] = "static const int DET_FACE_WIDTH = 200;";
  f["faceroi.h"] = "static const double ROI_FRAC = 1.0;";
  f["classicdesc.h"] =
      "static const int CLASSIC_MAX_OFFSET = 2; static const int CLASSIC_SEARCH_RESOL = 2;";
  f["hatdesc.h"] =
      "static const int HAT_MAX_OFFSET = 4; static const int HAT_SEARCH_RESOL = 2;"
      "static const int HAT_PATCH_WIDTH = 9*2+1; static const int HAT_PATCH_WIDTH_ADJ = -6;";
  f["hat.cpp"] =
      "static const int GRIDHEIGHT = 2; static const int GRIDWIDTH = 2; static const int "
      "BINS_PER_HIST = 4; static const double WINDOW_SIGMA = .5; static const double FINAL_SCALE "
      "= 10;";
  f["shape17.cpp"] =
      "static const int stasm77_tab[17] = {0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "
      "18, 38};";
  f["shapehacks.cpp"] =
      "static const double SHIFT_MOUTH_FROM_NOSE_FRAC = 0.06; static const double CHIN_DOWN_RATIO "
      "= 0.5; static const double CHIN_DOWN_SHIFT = 0.2; static const double CHIN_UP_RATIO = 2.4;"
      "static const double CHIN_UP_SHIFT = 0.1; static const double TEMPLE_RATIO = .1; static "
      "const double TEMPLE_SHIFT = 3; if (nosemouth_gap < .1 * eyemouth) shape(L_LJawMouthline, "
      "IX) -= .5 * xadjust; } shape(L_RJawMouthline, IX) += .5 * xadjust; }";
  f["MOD_1/initasm.cpp"] =
      "yaw00_meanshape, yaw00_eigvals, yaw00_eigvecs, 20, 1.5, SHAPEHACKS_DEFAULT | "
      "SHAPEHACKS_SHIFT_TEMPLE_OUT, YAW00_DESCMODS, NELEMS(YAW00_DESCMODS));";

  const char* const known[] = {
      "L_LTemple",       "L_LJaw01",       "L_LJawNoseline", "L_LJawMouthline", "L_LJaw04",
      "L_RJaw08",        "L_CTipOfChin",   "L_RTemple",      "L_RJaw11",        "L_RJawNoseline",
      "L_RJawMouthline", "L_LEyeOuter",    "L_REyeOuter",    "L_CNoseBase",     "L_LMouthCorner",
      "L_RMouthCorner",  "L_CTopOfTopLip", "L_CTopOfBotLip", "L_CBotOfBotLip",  "L_LMouth76"};
  std::string names = "enum stasm_LANDMARKS_77 {", info = "{", mean = "{", values = "{";
  for (int i = 0; i < 77; ++i) {
    const std::string comma = i ? ", " : "";
    names += comma + (i < 20 ? known[i] : ("L_" + std::to_string(i)).c_str());
    info += i == 3 ? "{ 4, 2, 9, 0., AT_Beard|AT_Hat }, " : "{ -1, -1, -1, 1., 0 }, ";
    mean += comma + std::to_string(i % 9 * 10 - 40) + ", " + std::to_string(i - 38) + ".5";
  }
  for (int i = 0; i < 154; ++i) values += (i ? ", " : "") + std::to_string(1000 - i);
  f["stasm_landmarks.h"] = names + "};";
  f["landtab_muct77.h"] = "static const LANDMARK_INFO LANDMARK_INFO_TAB[77] = " + info + "};";
  const auto matrix = [](const std::string& name, const std::string& size, const std::string& list,
                         const std::string& shape) {
    return "static const double yaw00_" + name + "data[" + size + "] = " + list +
           "; static const cv::Mat yaw00_" + name + "(" + shape + ", CV_64FC1, (double *)yaw00_" +
           name + "data);\n";
  };
  f["MOD_1/mh/yaw00_shapemodel.mh"] =
      head + "namespace stasm { " + matrix("meanshape", "77*2", mean + "}", "77, 2") +
      matrix("eigvals", "154*1", values + "}", "154, 1") +
      matrix("eigvecs", "154*154", stasm_list(154 * 154, seed), "154, 154") + "}";
  std::string list = "static const BaseDescMod* YAW00_DESCMODS[] = {";
  for (int level = 0; level < 2; ++level) {
    for (int i = 0; i < 77; ++i) {
      char place[16];
      std::snprintf(place, sizeof place, "lev%d_p%02d", level, i);
      const bool is_hat = i % 3 == 0;
      const std::string p = std::string("yaw00_") + place,
                        name = p + (is_hat ? "_hat" : "_classic");
      list += (level + i ? ", &" : "&") + name;
      std::string& file = f["MOD_1/mh/" + name + ".mh"];
      file = head + "namespace stasm { ";
      if (is_hat) {
        if (level + i == 0) file += "static double linmod(int a) { return a; } ";
        file += "static double " + p +
                "_hatfit(const double* const d) { const double intercept = " + std::to_string(i) +
                ".25; static const double coef[16] = " + stasm_list(16, seed) +
                "; return -linmod(d, intercept, coef, 16); } static const HatDescMod " + name +
                "(" + p + "_hatfit); }";
      } else {
        file += "static const double " + p + "_prof[5] = " + stasm_list(5, seed) +
                "; static const double yaw00_cov_" + place + "[5*5] = " + stasm_list(25, seed) +
                "; static const ClassicDescMod " + name + "(5, " + p + "_prof, yaw00_cov_" + place +
                "); }";
      }
    }
  }
  f["MOD_1/mh/yaw00.mh"] = list + "}; }";
  return f;
}

/// An entry of a tar archive.
inline std::string tar_entry(const std::string& name, const std::string& content, char kind = '0') {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  std::snprintf(head.data() + 124, 12, "%011zo", content.size());
  head.replace(148, 8, 8, ' ');
  head[156] = kind;
  head.replace(257, 8, "ustar  ", 8);
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  std::snprintf(head.data() + 148, 8, "%06o", sum);
  return head + content + std::string((512 - content.size() % 512) % 512, '\0');
}

inline std::string stasm_archive(const StasmFiles& files) {
  std::string tar = tar_entry("Stasm/", "", '5');
  for (const auto& [name, content] : files) tar += tar_entry("Stasm/src/" + name, content);
  return tar + std::string(1024, '\0');
}

}  // namespace cuface::test
