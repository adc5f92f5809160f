using System.Diagnostics;
using System.Net;
using System.Text.RegularExpressions;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>Millrace, or an application with its middleware, in a process of its own, killed when it is disposed.</summary>
internal sealed partial class ServerProcess : IAsyncDisposable
{
    private static readonly TimeSpan StartLimit = TimeSpan.FromSeconds(30);

    private readonly Process _process;
    private readonly Task<string> _error;

    private ServerProcess(Process process)
    {
        _process = process;
        _error = process.StandardError.ReadToEndAsync();
    }

    public EndPoint EndPoint { get; private set; } = null!;

    /// <summary>Where it speaks TLS; null where it does not.</summary>
    public EndPoint? TlsEndPoint { get; private set; }

    public static async Task<ServerProcess> StartAsync(string front, string root, string certificate, string[] flags)
    {
        string[] words = [.. Command(front, root, certificate), .. flags];
        // Without these two, root is refused files like everybody: else there would be no unreadable file.
        string[] unprivileged = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"];
        string[] command = Environment.IsPrivilegedProcess ? [.. unprivileged, .. words] : words;
        var server = new ServerProcess(Process.Start(new ProcessStartInfo(command[0], command[1..])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            // An application watches its settings, and a user has 128 watches by default: fs.inotify.max_user_instances.
            Environment = { ["DOTNET_hostBuilder__reloadConfigOnChange"] = "false" },
        })!);
        try
        {
            await server.WaitUntilServingAsync();
            await server.WaitForCodedFilesAsync();
            return server;
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
        await _process.WaitForExitAsync().WaitAsync(StartLimit);
        _process.Dispose();
    }

    /// <summary>Until its coded files are decoded once, a server may send the others: the tests begin after that, or after a second.</summary>
    private async Task WaitForCodedFilesAsync()
    {
        if (EndPoint is null)
        {
            return;
        }

        using var client = new HttpClient();
        bool isCoded = false;
        for (var watch = Stopwatch.StartNew(); !isCoded && watch.Elapsed < TimeSpan.FromSeconds(1); await Task.Delay(10))
        {
            using var request = new HttpRequestMessage(HttpMethod.Head, $"http://{EndPoint}/app.js");
            request.Headers.AcceptEncoding.ParseAdd("gzip");
            using HttpResponseMessage response = await client.SendAsync(request);
            isCoded = !response.IsSuccessStatusCode || response.Content.Headers.ContentEncoding.Count > 0;
        }
    }

    private async Task WaitUntilServingAsync()
    {
        string? line;
        do
        {
            line = await _process.StandardOutput.ReadLineAsync().WaitAsync(StartLimit);
            if (line is null)
            {
                throw new Nonconformance($"did not start: {(await _error).Replace("millrace: ", "", StringComparison.Ordinal).Trim()}");
            }

            if (Address().Match(line) is { Success: true } match)
            {
                var address = IPEndPoint.Parse(match.Groups["address"].Value);
                if (match.Groups["scheme"].Value == "https")
                {
                    TlsEndPoint = address;
                }
                else
                {
                    EndPoint = address;
                }
            }
        }
        while (!line.StartsWith("Serving ", StringComparison.Ordinal));

        // Read on, so that the server never waits for a full pipe.
        _ = _process.StandardOutput.ReadToEndAsync();
    }

    private static string[] Command(string front, string root, string certificate)
    {
        string backend = Fronts.BackendOf(front);
        bool isKestrel = backend == Fronts.Kestrel;
        string program = isKestrel ? Built("tests/Millrace.Conformance.Kestrel", "Millrace.Conformance.Kestrel")
            : Fronts.Program ?? Built("src/Millrace.Server", "millrace");
        string[] engine = isKestrel
            ? Fronts.IsHttp3(front) ? ["--http3", "127.0.0.1:0", "--cert", certificate] : []
            : ["--https", "127.0.0.1:0", "--cert", certificate, "--http3", "--reactors", "1", "--backend", backend];
        return [program, root, "--listen", "127.0.0.1:0", .. engine];
    }

    /// <summary>What was built with the tests, in the same configuration.</summary>
    private static string Built(string project, string program)
    {
        var output = new DirectoryInfo(AppContext.BaseDirectory);
        string repository = Path.Combine(output.FullName, "..", "..", "..", "..", "..");
        return Path.GetFullPath(Path.Combine(repository, project, "bin", output.Parent!.Name, output.Name, program));
    }

    [GeneratedRegex("^Listening on (?<scheme>https?)://(?<address>[^/]+)/")]
    private static partial Regex Address();
}
