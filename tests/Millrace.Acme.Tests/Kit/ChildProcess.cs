using System.Diagnostics;
using System.Text;

namespace Millrace.Acme.Tests.Kit;

/// <summary>A program that runs while a test does. What it says on both outputs is kept; disposing of it ends it.</summary>
internal sealed class ChildProcess : IAsyncDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly StringBuilder _log = new();
    private readonly List<(string Words, TaskCompletionSource Said)> _awaited = [];
    private readonly Task _reading;

    private ChildProcess(Process process)
    {
        _process = process;
        _reading = Task.WhenAll(ReadAsync(process.StandardOutput), ReadAsync(process.StandardError));
    }

    /// <summary>Whether it is on the PATH.</summary>
    public static bool IsInstalled(string program) =>
        Environment.GetEnvironmentVariable("PATH")!.Split(':').Any(folder => File.Exists(Path.Combine(folder, program)));

    /// <summary>What it has said.</summary>
    public string Log
    {
        get
        {
            lock (_log)
            {
                return _log.ToString();
            }
        }
    }

    public bool HasExited => _process.HasExited;

    public static ChildProcess Start(string program, IEnumerable<(string Name, string Value)> variables, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        foreach ((string name, string value) in variables)
        {
            start.Environment[name] = value;
        }

        return new ChildProcess(Process.Start(start)!);
    }

    /// <summary>Waits for a line with these words.</summary>
    /// <exception cref="InvalidOperationException">The program has ended without.</exception>
    public async Task SaysAsync(string words)
    {
        var said = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (_log)
        {
            if (_log.ToString().Contains(words, StringComparison.Ordinal))
            {
                return;
            }

            _awaited.Add((words, said));
        }

        if (await Task.WhenAny(said.Task, _reading).WaitAsync(Deadline) != said.Task)
        {
            throw new InvalidOperationException($"{_process.StartInfo.FileName} ended: {Log}");
        }
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync().WaitAsync(Deadline);
        await _reading.WaitAsync(Deadline);
        _process.Dispose();
    }

    private async Task ReadAsync(StreamReader output)
    {
        while (await output.ReadLineAsync() is { } line)
        {
            lock (_log)
            {
                _log.AppendLine(line);
                foreach ((_, TaskCompletionSource said) in _awaited.Where(awaited => line.Contains(awaited.Words, StringComparison.Ordinal)))
                {
                    said.TrySetResult();
                }
            }
        }
    }
}
