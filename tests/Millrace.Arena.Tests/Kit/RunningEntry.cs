using System.Collections.Concurrent;
using System.Collections.ObjectModel;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.Tests.Shared;

namespace Millrace.Arena.Tests.Kit;

/// <summary>The board's listeners.</summary>
public enum BoardPort
{
    Http,
    Https,
    H2c,
    Http2,
}

/// <summary>One entry on one backend, in a process of its own, started as its Dockerfile says; killed when it is disposed.</summary>
internal sealed class RunningEntry : IAsyncDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private readonly Process _process;
    private readonly ConcurrentQueue<string> _output = new();
    private readonly Dictionary<BoardPort, int> _ports;
    private readonly List<HttpClient> _clients = [];

    private RunningEntry(Process process, Dictionary<BoardPort, int> ports)
    {
        _process = process;
        _ports = ports;
    }

    public static async Task<RunningEntry> StartAsync(string entry, string backend, Board board)
    {
        Dictionary<BoardPort, int> ports = Enum.GetValues<BoardPort>().ToDictionary(static port => port, static _ => FreePort.Find());
        var folder = new EntryFolder(entry);
        var start = new ProcessStartInfo(folder.Program) { RedirectStandardOutput = true, RedirectStandardError = true };
        start.Environment.Remove("MILLRACE_BACKEND");
        if (entry == "millrace")
        {
            AddArguments(start.ArgumentList, folder, board, ports, backend);
        }
        else
        {
            SetVariables(start.Environment, folder, board, ports, backend);
        }

        var running = new RunningEntry(new Process { StartInfo = start }, ports);
        try
        {
            await running.AwaitStartAsync(entry, backend);
            return running;
        }
        catch
        {
            await running.DisposeAsync();
            throw;
        }
    }

    public int Port(BoardPort port) => _ports[port];

    public Uri Url(BoardPort port, string target) =>
        new($"{(port is BoardPort.Https or BoardPort.Http2 ? "https" : "http")}://localhost:{_ports[port]}{target}");

    /// <summary>A client that speaks what the board speaks on a port, and nothing else.</summary>
    public HttpClient Client(BoardPort port, bool isHttp2 = false)
    {
        var handler = new SocketsHttpHandler();
        handler.SslOptions.RemoteCertificateValidationCallback = static (_, certificate, _, _) => certificate?.Subject == "CN=localhost";
        var client = new HttpClient(handler)
        {
            BaseAddress = Url(port, "/"),
            Timeout = Patience,
            DefaultRequestVersion = isHttp2 || port is BoardPort.H2c or BoardPort.Http2 ? HttpVersion.Version20 : HttpVersion.Version11,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        _clients.Add(client);
        return client;
    }

    public async Task<Socket> ConnectAsync(BoardPort port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(IPAddress.Loopback, _ports[port]).WaitAsync(Patience);
        return socket;
    }

    public async ValueTask DisposeAsync()
    {
        _clients.ForEach(static client => client.Dispose());
        try
        {
            _process.Kill(entireProcessTree: true);
            await _process.WaitForExitAsync().WaitAsync(Patience);
        }
        catch (InvalidOperationException)
        {
            // It was not started.
        }

        _process.Dispose();
    }

    private static void AddArguments(
        Collection<string> arguments, EntryFolder folder, Board board, Dictionary<BoardPort, int> ports, string backend)
    {
        var here = new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["/data"] = board.Data,
            ["/certs/server.crt"] = Path.Combine(board.Certificates, "server.crt"),
            ["/certs/server.key"] = Path.Combine(board.Certificates, "server.key"),
            ["8080"] = $"127.0.0.1:{ports[BoardPort.Http]}",
            ["8081"] = $"127.0.0.1:{ports[BoardPort.Https]}",
            ["8443"] = $"127.0.0.1:{ports[BoardPort.Http2]}",
        };
        foreach (string word in folder.EntryPoint.Skip(1).Select(word => here.GetValueOrDefault(word, word)).Concat(["--backend", backend]))
        {
            arguments.Add(word);
        }
    }

    private static void SetVariables(
        IDictionary<string, string?> variables, EntryFolder folder, Board board, Dictionary<BoardPort, int> ports, string backend)
    {
        foreach ((string name, string value) in folder.Variables)
        {
            variables[name] = value;
        }

        foreach ((BoardPort port, int number) in ports)
        {
            variables[$"ARENA_{port.ToString().ToUpperInvariant()}"] = number.ToString(CultureInfo.InvariantCulture);
        }

        variables["ARENA_ADDRESS"] = "127.0.0.1";
        variables["ARENA_DATA"] = board.Data;
        variables["ARENA_CERTS"] = board.Certificates;
        variables["ARENA_BACKEND"] = backend;
    }

    private async Task AwaitStartAsync(string entry, string backend)
    {
        var ready = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        // Kestrel says nothing of its transport's backend.
        string[] needed = entry is "millrace-aspnet" or "millrace-grpc" ? ["Listening on "] : ["Listening on ", backend];
        _process.OutputDataReceived += (_, line) => Keep(line.Data, needed, ready);
        _process.ErrorDataReceived += (_, line) => Keep(line.Data, needed, ready);
        _process.Start();
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
        await Task.WhenAny(ready.Task, _process.WaitForExitAsync(), Task.Delay(Patience));
        Assert.True(ready.Task.IsCompleted, $"{entry} does not serve on {backend}: {string.Join('\n', _output)}");
    }

    private void Keep(string? line, string[] needed, TaskCompletionSource ready)
    {
        if (line is not null)
        {
            _output.Enqueue(line);
            if (needed.All(text => _output.Any(line => line.Contains(text, StringComparison.Ordinal))))
            {
                ready.TrySetResult();
            }
        }
    }
}
