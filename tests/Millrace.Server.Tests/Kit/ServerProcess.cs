using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>A server in a process of its own, killed at the latest when it is disposed.</summary>
internal sealed partial class ServerProcess : IAsyncDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(30);

    private readonly Process _process;
    private readonly Task<string> _error;
    private readonly List<string> _lines = [];

    private ServerProcess(Process process)
    {
        _process = process;
        _error = process.StandardError.ReadToEndAsync();
    }

    /// <summary>What it printed until it was serving.</summary>
    public IReadOnlyList<string> Lines => _lines;

    /// <summary>The addresses it printed, in the order they were asked for: URLs, and unix:/path.</summary>
    public IReadOnlyList<string> Addresses => [.. _lines.Select(static line => Address().Match(line)).Where(static match => match.Success)
        .Select(static match => match.Groups["address"].Value)];

    /// <summary>The first address.</summary>
    public Uri Url => new(Addresses[0]);

    /// <summary>Starts the published server and waits until it serves.</summary>
    public static Task<ServerProcess> StartAsync(params string[] arguments) =>
        StartAsync(Publication.Program, [.. arguments, .. Publication.BackendFlags], lastLine: "Serving ");

    /// <param name="program">What to start.</param>
    /// <param name="arguments">Its arguments.</param>
    /// <param name="lastLine">How the line begins with which it says that it is ready.</param>
    public static async Task<ServerProcess> StartAsync(string program, string[] arguments, string lastLine)
    {
        var server = new ServerProcess(Process.Start(new ProcessStartInfo(program, arguments)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!);
        try
        {
            do
            {
                string? line = await server._process.StandardOutput.ReadLineAsync().WaitAsync(Deadline);
                Assert.True(line is not null, line is null ? $"The server ended: {await server._error}" : null);
                server._lines.Add(line!);
            }
            while (!server._lines[^1].StartsWith(lastLine, StringComparison.Ordinal));

            return server;
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }
    }

    public void Signal(PosixSignal signal) => Assert.Equal(0, Kill(_process.Id, signal == PosixSignal.SIGINT ? 2 : 15));

    /// <summary>Its exit code; 128 and the signal's number where a signal ended it.</summary>
    public async Task<int> ExitCodeAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(Deadline);
        return _process.ExitCode;
    }

    /// <summary>All that it said on stderr, once it has ended.</summary>
    public Task<string> ErrorAsync() => _error.WaitAsync(Deadline);

    /// <summary>All but the assemblies, which the runtime opens when they are first needed.</summary>
    public int CountDescriptors() => Directory.GetFiles($"/proc/{_process.Id}/fd")
        .Count(static path => new FileInfo(path).LinkTarget?.EndsWith(".dll", StringComparison.Ordinal) == false);

    /// <summary>Memory in use, in KiB.</summary>
    public int ResidentKib()
    {
        string line = File.ReadLines($"/proc/{_process.Id}/status").Single(static line => line.StartsWith("VmRSS:", StringComparison.Ordinal));
        return int.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture);
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync().WaitAsync(Deadline);
        _process.Dispose();
    }

    [GeneratedRegex(@"^Listening on (?<address>\S+)")]
    private static partial Regex Address();

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Kill(int process, int signal);
}
