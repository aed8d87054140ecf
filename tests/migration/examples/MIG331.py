# --- case
from pkg_resources import packaging  # 版本
^ MIG331.packaging rewrite

版本 = packaging.version.Version("2.1")
# --- after
import packaging.version  # 版本

版本 = packaging.version.Version("2.1")

# --- case: more of it is used
from pkg_resources import packaging
^ MIG331.packaging rewrite

范围 = packaging.specifiers.SpecifierSet(">=2.0")
合适 = packaging.version.parse("2.1") in 范围
# --- after
import packaging.specifiers, packaging.version

范围 = packaging.specifiers.SpecifierSet(">=2.0")
合适 = packaging.version.parse("2.1") in 范围

# --- near miss: another name of it
from pkg_resources import parse_version

版本 = parse_version("2.1")

# --- near miss
from pkg_resources import packaging as 包

版本 = 包.version.Version("2.1")
