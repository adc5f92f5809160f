using System.Diagnostics;
using System.Text;

namespace Millrace.Server.Tests.Completions;

/// <summary>
/// A shell at a terminal of its own, which script(1) makes: keys go in, and what it answers stands between two control characters. Its
/// start-up file, which says what keys do, has it prompt with <see cref="Prompt"/>.
/// </summary>
internal sealed class TypedShell : IDisposable
{
    public const string Prompt = "ready>";

    private const char ResponseStart = '\x02';
    private const char ResponseEnd = '\x03';

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(30);

    private readonly Process _process;
    private readonly StringBuilder _unread = new();
    private readonly char[] _buffer = new char[4096];

    private TypedShell(Process process) => _process = process;

    /// <summary>Started with <paramref name="home"/> as its home, and waited for until it takes keys.</summary>
    public static async Task<TypedShell> StartAsync(string command, string home)
    {
        var start = new ProcessStartInfo("script", ["-qec", command, "/dev/null"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            WorkingDirectory = home,
        };
        start.Environment["HOME"] = home;
        start.Environment["ZDOTDIR"] = home;
        start.Environment["XDG_DATA_HOME"] = Path.Combine(home, ".data");
        start.Environment["TERM"] = "dumb";
        start.Environment["LC_ALL"] = "C.UTF-8";
        var shell = new TypedShell(Process.Start(start)!);
        await shell.UntilAsync(Prompt);
        return shell;
    }

    /// <summary>Types, and gives what is answered to the last key, and what was shown before.</summary>
    public async Task<(string Shown, string Response)> TypeAsync(string keys)
    {
        await _process.StandardInput.WriteAsync(keys);
        await _process.StandardInput.FlushAsync();
        string shown = await UntilAsync(ResponseEnd.ToString());
        int start = shown.LastIndexOf(ResponseStart);
        return (shown[..start], shown[(start + 1)..]);
    }

    public void Dispose()
    {
        _process.Kill(entireProcessTree: true);
        _process.WaitForExit();
        _process.Dispose();
    }

    private async Task<string> UntilAsync(string mark)
    {
        int at;
        while ((at = _unread.ToString().IndexOf(mark, StringComparison.Ordinal)) < 0)
        {
            using var patience = new CancellationTokenSource(Deadline);
            int count;
            try
            {
                count = await _process.StandardOutput.ReadAsync(_buffer, patience.Token);
            }
            catch (OperationCanceledException)
            {
                count = 0;
            }

            Assert.True(count > 0, $"The shell says no '{mark}', but: {_unread}");
            _unread.Append(_buffer, 0, count);
        }

        string read = _unread.ToString(0, at);
        _unread.Remove(0, at + mark.Length);
        return read;
    }
}
