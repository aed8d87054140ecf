"""From an NVIDIA GPU script to an Ascend NPU in four stages: the engine behind the notebooks and the command."""

from ascend_workbook.findings import registry

#: kind -> name -> what lower parts ask for: what draws and saves reports, and what is a stage's own
_ENTRIES = {
    registry.RENDERER: {
        "text": "ascend_workbook.show.text:render_text",
        "page": "ascend_workbook.page.render:render_report",
        "fragment": "ascend_workbook.show.card:render_fragment",
        "bundle": "ascend_workbook.show.card:make_bundle",
        "figure": "ascend_workbook.show.charts:draw_chart",
        "junit": "ascend_workbook.show.junit:render_junit",
        "files": "ascend_workbook.storage.saving:save_report",
    },
    registry.CASES: {
        "precision": "ascend_workbook.precision.views.questions:make_cases",
    },
    registry.CHART: {"errors": "ascend_workbook.precision.views.error_curve:DRAWING"},
    registry.REMARKS: {
        "ACC": "ascend_workbook.precision.rules:REMARKS",
        "EXP": "ascend_workbook.diagnose:REMARKS",
        "MIG": "ascend_workbook.migration.release:REMARKS",
        "PLN": "ascend_workbook.planning:REMARKS",
        "PRF": "ascend_workbook.profiling.rules:REMARKS",
    },
}
for _kind, _entries in _ENTRIES.items():
    registry.register_functions(_kind, _entries)


__version__ = "0.1.0"
