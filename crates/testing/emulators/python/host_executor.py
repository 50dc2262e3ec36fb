"""Runs Lambda functions as processes of this machine. LocalEmu by itself needs Docker.

LocalEmu decides when an execution environment begins and ends, and never gives it two invocations at once. Here
an environment is one `bootstrap` process with a Lambda Runtime API of its own. As on AWS, the invocation fails if
the process ends, or is killed after its timeout. The next invocation starts a new process.
The output of a function goes to `$TESTBED_FUNCTIONS/<function>/<environment>.log`, and to CloudWatch Logs if
its role may write there. A file in `processes` beside it names each process that is running.

Functions stay in LocalEmu's process group, so that nothing is left when the group is killed.
"""

import json
import os
import queue
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from localemu.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localemu.services.lambda_.invocation.lambda_models import InvocationResult
from localemu.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localemu.services.lambda_.invocation.runtime_executor import RuntimeExecutor

LOOPBACK = "127.0.0.1"
RUNTIME = "/2018-06-01/runtime"
# How long a process may take until it asks for its first invocation. LocalEmu itself gives up after 20.
INIT_SECONDS = 19


class HostExecutorPlugin(RuntimeExecutorPlugin):
    name = "host"

    def load(self, *args, **kwargs):
        return HostExecutor


class HostExecutor(RuntimeExecutor):
    def __init__(self, id, function_version):
        super().__init__(id, function_version)
        folder = Path(os.environ["TESTBED_FUNCTIONS"], function_version.id.function_name)
        self.processes = folder / "processes"
        self.processes.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{id}.log"
        self.log.touch()
        self.environment = {}
        self.process = None
        self.told = 0
        self.invoking = threading.Lock()

    @classmethod
    def prepare_version(cls, function_version):
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        """Keeps the code, because a running invocation may need it."""

    def start(self, env_vars):
        self.environment = {name: str(value) for name, value in env_vars.items()}
        self.boot()

    def stop(self):
        """Lets a running invocation finish, as AWS does when a function is updated."""

        def end():
            with self.invoking:
                self.end()

        threading.Thread(target=end, daemon=True).start()

    def boot(self):
        code = self.function_version.config.code.get_unzipped_code_location()
        self.process = Process(code, self.environment, self.log, self.processes)
        kind, body = self.process.listen(INIT_SECONDS)
        if kind != "next":
            self.end()
            raise StatusErrorException("the function did not start", payload=body)

    def end(self):
        if self.process is not None:
            self.process.end()
            self.process = None

    def invoke(self, payload, function_timeout=None):
        request_id = payload["invoke-id"]
        with self.invoking:
            # After an invocation, a process either asks for the next one or has ended.
            if self.process is not None and not self.process.comes_back(function_timeout):
                self.end()
            if self.process is None:
                self.boot()
            kind, body = self.process.invoke(payload, function_timeout)
            if kind not in ("response", "error"):
                self.end()
            logs = f"START RequestId: {request_id}\n{self.new_logs()}END RequestId: {request_id}\n"
            return InvocationResult(request_id, body, is_error=kind != "response", logs=logs)

    def new_logs(self):
        with self.log.open("rb") as log:
            log.seek(self.told)
            written = log.read()
        self.told += len(written)
        return written.decode(errors="replace")

    def get_logs(self):
        return self.log.read_text(errors="replace")

    def get_address(self):
        return LOOPBACK

    def get_endpoint_from_executor(self):
        return LOOPBACK

    def get_runtime_endpoint(self):
        """Empty, because only LocalEmu's own runtime inside Docker uses this endpoint."""
        return ""


class Process:
    """One process of a function, and its events: next, response, error, init (failed), exit; or timeout."""

    def __init__(self, code, environment, log, processes):
        self.invocations = queue.Queue()
        self.said = queue.Queue()
        self.is_waiting = False
        self.answering = None
        self.api = ThreadingHTTPServer((LOOPBACK, 0), RuntimeApi)
        self.api.process = self
        environment = {
            "PATH": os.environ["PATH"],
            **environment,
            "AWS_LAMBDA_RUNTIME_API": f"{LOOPBACK}:{self.api.server_port}",
            "LAMBDA_TASK_ROOT": str(code),
        }
        with log.open("ab") as output:
            files = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            try:
                self.child = subprocess.Popen([code / "bootstrap"], cwd=code, env=environment, **files)
            except OSError as error:
                self.api.server_close()
                payload = failure("Runtime.InvalidEntrypoint", str(error))
                raise StatusErrorException("the function cannot be started", payload) from error
        self.mark = processes / str(self.child.pid)
        self.mark.touch()
        threading.Thread(target=self.api.serve_forever, args=[0.1], daemon=True).start()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        status = self.child.wait()
        self.mark.unlink()
        how = f"signal: {-status}" if status < 0 else f"exit status {status}"
        self.said.put(("exit", failure("Runtime.ExitError", f"Runtime exited with error: {how}")))

    def listen(self, seconds):
        try:
            kind, body = self.said.get(timeout=seconds)
        except queue.Empty:
            kind, body = "timeout", failure("Sandbox.Timedout", f"Task timed out after {seconds:.2f} seconds")
        self.is_waiting = kind == "next"
        return kind, body

    def comes_back(self, seconds):
        return (self.is_waiting or self.listen(seconds)[0] == "next") and self.child.poll() is None

    def invoke(self, payload, seconds):
        self.answering = payload["invoke-id"]
        deadline = int((time.time() + seconds) * 1000)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": self.answering,
            "Lambda-Runtime-Deadline-Ms": str(deadline),
            "Lambda-Runtime-Invoked-Function-Arn": payload["invoked-function-arn"],
            "Lambda-Runtime-Trace-Id": payload["trace-id"],
        }
        self.invocations.put((headers, payload["payload"].encode()))
        return self.listen(seconds)

    def end(self):
        self.child.kill()
        self.invocations.put(None)
        self.api.shutdown()
        self.api.server_close()


class RuntimeApi(BaseHTTPRequestHandler):
    """https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html"""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path != f"{RUNTIME}/invocation/next":
            return self.answer(404)
        process = self.server.process
        process.said.put(("next", None))
        invocation = process.invocations.get()
        if invocation is None:
            self.close_connection = True
        else:
            self.answer(200, *invocation)

    def do_POST(self):
        process = self.server.process
        body = self.rfile.read(int(self.headers["Content-Length"]))
        match self.path.removeprefix(f"{RUNTIME}/").split("/"):
            case ["invocation", id, ("response" | "error") as kind] if id == process.answering:
                process.answering = None
                process.said.put((kind, body))
                self.answer(202)
            case ["init", "error"]:
                process.said.put(("init", body))
                self.answer(202)
            case _:
                self.answer(400)

    def answer(self, status, headers=None, body=b"{}"):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def failure(kind, message):
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()
