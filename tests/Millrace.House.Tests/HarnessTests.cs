using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.Versioning;

namespace Millrace.House.Tests;

[SupportedOSPlatform("linux")]
public class HarnessTests
{
    [Fact]
    public void What_another_server_of_a_run_does_is_what_others_do()
    {
        // Each has a bit of its own, so that the sum says who is in it.
        string ran = Said("""
            import os, session
            us, ours, server, another = os.getpid(), os.getsid(0), 1000, 2000
            table = {
                server: (us, server, 1), server + 1: (server, server, 2),
                another: (us, another, 4), another + 1: (another, another, 8),
                us: (1, ours, 16), us + 1: (us, ours, 32),
                2: (0, 0, 64), 50: (2, 0, 128), 3000: (1, 3000, 256),
            }
            session._stats = lambda: [
                (pid, ["S", str(parent), "0", str(of), *["0"] * 7, str(ticks), "0", "0", "0"]) for pid, (parent, of, ticks) in table.items()]
            print(round(session.others_ran_s(server) * os.sysconf("SC_CLK_TCK")))
            """);

        Assert.Equal($"{4 + 8 + 256}", ran);
    }

    [Fact]
    public void A_window_begins_once_others_rest()
    {
        string slept = Said("""
            import window
            class Server:
                def __init__(self): self.looks = iter([0, 0.2, 0.2, 0.39, 0.4, 0.4])
                def others_ran_s(self): return next(self.looks)
            slept = []
            window.time.sleep = slept.append
            window.wait_until_others_rest(Server())
            print(len(slept))
            """);

        Assert.Equal("3", slept);
    }

    private static string Said(string script)
    {
        ProcessStartInfo start = new("python3", ["-B", "-c", script])
        {
            RedirectStandardError = true,
            RedirectStandardOutput = true,
        };
        start.Environment["PYTHONPATH"] = Path.Combine(Repository.Root, "bench", "harness");
        using Process? process = Begun(start);
        Assert.SkipUnless(process is not null, "python3 is missing");
        string said = process.StandardOutput.ReadToEnd();
        string error = process.StandardError.ReadToEnd();
        process.WaitForExit();
        Assert.True(process.ExitCode == 0, error);
        return said.Trim();
    }

    private static Process? Begun(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start);
        }
        catch (Win32Exception)
        {
            return null;
        }
    }
}
