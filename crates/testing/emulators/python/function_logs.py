"""Lets a function write to the log group in its configuration. LocalEmu by itself always creates another one."""

from localemu.runtime import hooks
from localemu.services.lambda_.invocation.execution_environment import ExecutionEnvironment


@hooks.on_infra_start()
def write_where_told():
    usual = ExecutionEnvironment.get_log_group_name

    def configured(self):
        return self.function_version.config.logging_config.get("LogGroup") or usual(self)

    ExecutionEnvironment.get_log_group_name = configured
