"""What all Python tests share: their report for meson, and what they need beside this build."""
import subprocess

import pytest

import programs


def pytest_addoption(parser):
    # Of meson's protocols that of GoogleTest takes a JUnit report, so meson counts pytest's cases as it counts those.
    parser.addoption("--gtest_output", metavar="xml:FILE", help="where meson wants the JUnit report")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if report := config.getoption("--gtest_output"):
        config.option.xmlpath = report.removeprefix("xml:")


def pytest_sessionfinish(session, exitstatus):
    """A file that cannot run here has no cases, but says why: that is a skip, and no failure."""
    skipped = session.config.pluginmanager.get_plugin("terminalreporter").stats.get("skipped")
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and skipped:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(name="models", scope="session")
def need_models():
    programs.need_models()


@pytest.fixture(name="network", scope="session")
def converted_network(data, tmp_path_factory):  # pylint: disable=unused-argument
    """The test data's face-detection network, as elements read it."""
    onnx, file = programs.DATA / "models/yunet.onnx", tmp_path_factory.mktemp("network") / "yunet.cuface"
    if not onnx.exists():
        pytest.skip(f"no {onnx}")
    done = subprocess.run([programs.BUILD / "models/cuface-model", "convert", onnx, file], capture_output=True, text=True,
                          check=False)
    if "built without ONNX" in done.stderr:
        pytest.skip("cuface-model was built without ONNX: install libonnx-dev and libprotobuf-dev")
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(name="data", scope="session")
def need_data(models):  # pylint: disable=unused-argument
    """Pictures and clips, and the model that finds something in them."""
    if not programs.DATA.is_dir():
        pytest.skip("no test data: set CUFACE_DATA")
