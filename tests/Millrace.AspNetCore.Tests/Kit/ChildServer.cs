using System.Collections.Concurrent;
using System.Diagnostics;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>A program that serves, in a process of its own, killed at the latest when it is disposed.</summary>
internal sealed class ChildServer : IAsyncDisposable
{
    private readonly Process _process;
    private readonly ConcurrentQueue<string> _output = new();

    private ChildServer(Process process) => _process = process;

    public int Id => _process.Id;

    /// <summary>All that it has said so far.</summary>
    public string Output => string.Join('\n', _output);

    /// <summary>Whether one of its threads is a reactor.</summary>
    public bool HasReactors => ThreadNames.Of(_process.Id)
        .Any(static thread => thread.Name.StartsWith("millrace-", StringComparison.Ordinal));

    /// <summary>Starts it, and waits for a line with the mark; what stands after it, up to a space, is the address.</summary>
    public static async Task<(ChildServer Server, Uri Url)> StartAsync(
        string mark, IReadOnlyDictionary<string, string> environment, string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        start.WorkingDirectory = Path.GetDirectoryName(program)!;
        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }

        var server = new ChildServer(new Process { StartInfo = start });
        var ready = new TaskCompletionSource<Uri>(TaskCreationOptions.RunContinuationsAsynchronously);
        server._process.OutputDataReceived += (_, line) => server.Keep(line.Data, mark, ready);
        server._process.ErrorDataReceived += (_, line) => server.Keep(line.Data, mark, ready);
        server._process.Start();
        server._process.BeginOutputReadLine();
        server._process.BeginErrorReadLine();
        try
        {
            Task exit = server._process.WaitForExitAsync();
            await Task.WhenAny(ready.Task, exit).Within();
            Assert.True(ready.Task.IsCompleted, $"It ended: {server.Output}");
            return (server, await ready.Task);
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync().Within();
        _process.Dispose();
    }

    private void Keep(string? line, string mark, TaskCompletionSource<Uri> ready)
    {
        if (line is null)
        {
            return;
        }

        _output.Enqueue(line);
        if (line.IndexOf(mark, StringComparison.Ordinal) is >= 0 and int at)
        {
            ready.TrySetResult(new Uri(line[(at + mark.Length)..].Split(' ')[0]));
        }
    }
}
