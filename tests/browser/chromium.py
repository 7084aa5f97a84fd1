"""A headless Chromium that a test drives: standard library only.

The DevTools protocol goes through two pipes (--remote-debugging-pipe), so that no WebSocket and no port is needed.
"""
import collections
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The path of a Chromium; None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """Use with `with`. Events are kept in `events` as (session, method, params)."""

    def __init__(self, path):
        self.folder = tempfile.mkdtemp(prefix="zoo-chromium-")
        # Away from 3 and 4, where Chromium looks for its ends.
        pipes = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (*os.pipe(), *os.pipe())]
        read_theirs, self.write, self.read, write_theirs = pipes

        def place():
            os.dup2(read_theirs, 3)
            os.dup2(write_theirs, 4)

        # The sandbox needs rights that containers often lack; the only page shown is our own.
        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=place, pass_fds=(3, 4))
        for end in (read_theirs, write_theirs):
            os.close(end)
        self.buffer, self.next, self.events = b"", 0, collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for end in (self.read, self.write):
            os.close(end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, deadline):
        """The next message, or None when the time is over."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                return None
            part = os.read(self.read, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, timeout=60, **params):
        self.next += 1
        request = {"id": self.next, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        deadline = time.monotonic() + timeout
        while (message := self.message(deadline)) is not None:
            if message.get("id") == self.next:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append((message.get("sessionId"), message["method"], message["params"]))
        raise RuntimeError(f"{method}: no answer in {timeout} s")

    def wait_for(self, session, method, timeout=60):
        deadline = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event[:2] == (session, method):
                    self.events.remove(event)
                    return event[2]
            message = self.message(deadline)
            if message is None:
                raise RuntimeError(f"{method} did not come in {timeout} s")
            if "method" in message:
                self.events.append((message.get("sessionId"), message["method"], message["params"]))

    def page(self, url, width, height=900, dark=False, scripts=True, media=""):
        return Page(self, url, width, height, dark, scripts, media)


class Page:
    """A page that has loaded. `problems` holds what its console said and what went wrong in its scripts, `requests`
    the addresses that it asked for."""

    KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
            "ArrowRight": 39, "ArrowDown": 40}

    def __init__(self, chromium, url, width, height, dark, scripts, media):
        self.chromium = chromium
        self.target = chromium.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = chromium.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=url)
        chromium.wait_for(self.session, "Page.loadEventFired")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.chromium.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **params):
        return self.chromium.call(method, session=self.session, **params)

    def run(self, expression):
        """The value of an expression in JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def press(self, key):
        code = self.KEYS[key]
        text = {"Enter": "\r", " ": " "}.get(key, "")
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, code=key, text=text,
                  windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def point_at(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def of(self, *methods):
        return [params for session, method, params in self.chromium.events
                if session == self.session and method in methods]

    @property
    def problems(self):
        self.run("0")  # what came before has arrived then
        return self.of("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")

    @property
    def requests(self):
        self.run("0")
        return [params["request"]["url"] for params in self.of("Network.requestWillBeSent")]

    def screenshot(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})["data"]

    def pdf(self):
        return self.call("Page.printToPDF", preferCSSPageSize=True)["data"]
