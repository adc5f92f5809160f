using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>A server in a process of its own, killed at the latest when it is disposed.</summary>
internal sealed partial class ServerProcess : IAsyncDisposable
{
    private const string Serving = "Serving ";

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly Task<string> _error;
    private readonly StringBuilder _errorSoFar = new();
    private readonly List<string> _lines = [];

    private ServerProcess(Process process)
    {
        _process = process;
        _error = ReadErrorAsync();
    }

    /// <summary>What it printed until it was serving.</summary>
    public IReadOnlyList<string> Lines => _lines;

    /// <summary>The addresses it printed, in the order they were asked for: URLs, and unix:/path.</summary>
    public IReadOnlyList<string> Addresses => [.. _lines.Select(static line => Address().Match(line)).Where(static match => match.Success)
        .Select(static match => match.Groups["address"].Value)];

    /// <summary>The first address.</summary>
    public Uri Url => new(Addresses[0]);

    /// <summary>Where its admin pages are.</summary>
    public Uri Admin => new(_lines.Select(static line => AdminAddress().Match(line)).First(static match => match.Success)
        .Groups["address"].Value);

    /// <summary>Starts the published server and waits until it serves.</summary>
    public static Task<ServerProcess> StartAsync(params string[] arguments) =>
        StartAsync(Publication.Program, [.. arguments, .. Publication.BackendFlags], Serving);

    /// <param name="program">What to start.</param>
    /// <param name="arguments">Its arguments.</param>
    /// <param name="lastLine">How the line begins with which it says that it is ready.</param>
    public static Task<ServerProcess> StartAsync(string program, string[] arguments, string lastLine) =>
        Launch(program, arguments).WhenReadyAsync(lastLine);

    /// <summary>Starts the published server with variables of its own, and waits until it serves.</summary>
    public static Task<ServerProcess> StartWithAsync(IEnumerable<(string Name, string Value)> variables, params string[] arguments) =>
        Launch(Publication.Program, [.. arguments, .. Publication.BackendFlags], variables).WhenReadyAsync();

    /// <summary>Whether it has loaded an assembly by now.</summary>
    public bool HasLoaded(string assembly) =>
        File.ReadLines($"/proc/{_process.Id}/maps").Any(line => line.EndsWith($"/{assembly}.dll", StringComparison.Ordinal));

    /// <summary>Starts it and waits for nothing.</summary>
    public static ServerProcess Launch(string program, params string[] arguments) => Launch(program, arguments, []);

    private static ServerProcess Launch(string program, string[] arguments, IEnumerable<(string Name, string Value)> variables)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        foreach ((string name, string value) in variables)
        {
            start.Environment[name] = value;
        }

        return new ServerProcess(Process.Start(Tool.WithoutBackend(start))!);
    }

    /// <summary>Itself, once it has said a line that begins so; one that never does is ended.</summary>
    public async Task<ServerProcess> WhenReadyAsync(string lastLine = Serving)
    {
        try
        {
            await ReadyAsync(lastLine);
            return this;
        }
        catch
        {
            await DisposeAsync();
            throw;
        }
    }

    /// <summary>Waits for a line that begins so.</summary>
    public async Task ReadyAsync(string lastLine = Serving)
    {
        do
        {
            string? line = await _process.StandardOutput.ReadLineAsync().WaitAsync(Deadline);
            Assert.True(line is not null, line is null ? $"The server ended: {await _error}" : null);
            _lines.Add(line!);
        }
        while (!_lines[^1].StartsWith(lastLine, StringComparison.Ordinal));
    }

    /// <summary>The next line of its standard output; null at the end.</summary>
    public Task<string?> ReadLineAsync() => _process.StandardOutput.ReadLineAsync().WaitAsync(Deadline);

    public int Id => _process.Id;

    /// <summary>Processor time that it has used.</summary>
    public TimeSpan ProcessorTime
    {
        get
        {
            _process.Refresh();
            return _process.TotalProcessorTime;
        }
    }

    /// <summary>Whether it handles a signal by now, instead of being ended by it.</summary>
    public bool Catches(PosixSignal signal)
    {
        string line = File.ReadLines($"/proc/{_process.Id}/status").Single(static line => line.StartsWith("SigCgt:", StringComparison.Ordinal));
        return (Convert.ToUInt64(line.Split('\t')[1], 16) & (1UL << (NumberOf(signal) - 1))) != 0;
    }

    public void Signal(PosixSignal signal) => Assert.Equal(0, Send(_process.Id, signal));

    /// <summary>Sends a signal to any process; other than 0 where it is not there any more.</summary>
    public static int Send(int process, PosixSignal signal) => Kill(process, NumberOf(signal));

    private static int NumberOf(PosixSignal signal) => signal switch
    {
        PosixSignal.SIGHUP => 1,
        PosixSignal.SIGINT => 2,
        PosixSignal.SIGTERM => 15,
        _ when signal > 0 => (int)signal,
        _ => throw new ArgumentOutOfRangeException(nameof(signal), signal, "Nobody sends that."),
    };

    /// <summary>Its exit code; 128 and the signal's number where a signal ended it.</summary>
    public async Task<int> ExitCodeAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(Deadline);
        return _process.ExitCode;
    }

    /// <summary>All that it said on stderr, once it has ended.</summary>
    public Task<string> ErrorAsync() => _error.WaitAsync(Deadline);

    /// <summary>How often it has said this on stderr.</summary>
    public int CountErrors(string words) => SaidOnError().Split(words).Length - 1;

    /// <summary>Waits until it has said this on stderr, so often.</summary>
    public async Task AwaitErrorAsync(string words, int times = 1)
    {
        using var deadline = new CancellationTokenSource(Deadline);
        while (CountErrors(words) < times)
        {
            await Task.Delay(5, deadline.Token);
        }
    }

    /// <summary>All but the assemblies, which the runtime opens when they are first needed.</summary>
    public int CountDescriptors() => OpenFiles().Count(static path => !path.EndsWith(".dll", StringComparison.Ordinal));

    /// <summary>What its descriptors are: a path, or what the kernel calls others.</summary>
    public IEnumerable<string> OpenFiles() => Directory.GetFiles($"/proc/{_process.Id}/fd")
        .Select(static path => new FileInfo(path).LinkTarget)
        .OfType<string>();

    /// <summary>Those it has opened to read or write, and not only to keep their inodes (O_PATH).</summary>
    public IEnumerable<string> FilesInUse() => Directory.GetFiles($"/proc/{_process.Id}/fd")
        .Where(path => !IsPin(Path.GetFileName(path)))
        .Select(static path => new FileInfo(path).LinkTarget)
        .OfType<string>();

    private bool IsPin(string descriptor)
    {
        const int PathOnly = 0x200000;
        try
        {
            string flags = File.ReadLines($"/proc/{_process.Id}/fdinfo/{descriptor}").First(static line =>
                line.StartsWith("flags:", StringComparison.Ordinal));
            return (Convert.ToInt32(flags["flags:".Length..].Trim(), 8) & PathOnly) != 0;
        }
        catch (IOException)
        {
            // It was closed meanwhile.
            return false;
        }
    }

    /// <summary>Whether it has rings yet, which it makes when its sites are open.</summary>
    public bool HasRings() => OpenFiles().Any(static path => path.Contains("[io_uring]", StringComparison.Ordinal));

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

    /// <summary>What it has said on stderr until now.</summary>
    public string Said() => SaidOnError();

    private string SaidOnError()
    {
        lock (_errorSoFar)
        {
            return _errorSoFar.ToString();
        }
    }

    private async Task<string> ReadErrorAsync()
    {
        char[] room = new char[4096];
        int count;
        while ((count = await _process.StandardError.ReadAsync(room)) > 0)
        {
            lock (_errorSoFar)
            {
                _errorSoFar.Append(room, 0, count);
            }
        }

        return SaidOnError();
    }

    [GeneratedRegex(@"^Listening on (?<address>\S+)")]
    private static partial Regex Address();

    [GeneratedRegex(@"^Admin pages on (?<address>\S+)")]
    private static partial Regex AdminAddress();

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Kill(int process, int signal);
}
