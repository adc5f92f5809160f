using System.CommandLine;
using System.CommandLine.Parsing;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Millrace.Server.Terminal;

namespace Millrace.Server.Commands;

/// <summary><c>millrace probe URL</c>: sends one request to a server, for health checks without curl.</summary>
internal static class ProbeCommand
{
    private const int SecondsDefault = 3;
    private const int SecondsMax = 3600;

    public static Command Create()
    {
        var url = new Argument<Uri>("URL")
        {
            Description = "The URL to request, such as http://127.0.0.1:8080/.",
            CustomParser = ParseUrl,
        };
        var timeout = new Option<int>("--timeout")
        {
            Description = $"Timeout in seconds. [default: {SecondsDefault}]",
            HelpName = "SECONDS",
            DefaultValueFactory = static _ => SecondsDefault,
            CustomParser = ParseSeconds,
        };
        const string Help =
            "Sends one request to a server: exit status 0 if it responds, 1 if it does not or with a status of 500 and above.";
        var command = new Command("probe", Help) { url, timeout };
        command.SetAction(async (parsed, cancellation) =>
        {
            ProbeResult result = await ServerProbe.AskAsync(
                parsed.GetValue(url)!, TimeSpan.FromSeconds(parsed.GetValue(timeout)), cancellation);
            await (result.IsHealthy ? Console.Out : Console.Error).WriteLineAsync(result.Text);
            return result.IsHealthy ? ExitCode.Done : ExitCode.Refused;
        });
        return command;
    }

    private static int ParseSeconds(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int seconds) || seconds is < 1 or > SecondsMax)
        {
            result.AddError($"--timeout: '{text}' is not valid: use a number of seconds from 1 to {SecondsMax}.");
        }

        return seconds;
    }

    private static Uri? ParseUrl(ArgumentResult result)
    {
        string text = result.Tokens is [{ } token] ? token.Value : "";
        if (Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && url.Scheme == Uri.UriSchemeHttp)
        {
            return url;
        }

        result.AddError($"'{text}' cannot be probed: use a URL such as http://127.0.0.1:8080/ (not https).");
        return null;
    }
}

/// <summary>Sends one request on a new connection and reads the status of the response.</summary>
internal static class ServerProbe
{
    /// <summary>"HTTP/1.1 200".</summary>
    private const int StatusBytes = 12;

    private const int FirstFailure = 500;

    /// <summary>Never throws: errors become the result.</summary>
    public static async Task<ProbeResult> AskAsync(Uri url, TimeSpan timeout, CancellationToken cancellation)
    {
        using var deadline = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        deadline.CancelAfter(timeout);
        try
        {
            return Judge(url, await ReadStatusAsync(url, deadline.Token));
        }
        catch (SocketException refusal)
        {
            return new ProbeResult(false, $"{url} does not respond: {refusal.Message}.");
        }
        catch (OperationCanceledException)
        {
            return new ProbeResult(false, $"{url} did not respond within {timeout.TotalSeconds} s.");
        }
    }

    internal static ProbeResult Judge(Uri url, string start)
    {
        // Any status below 500 means that the server works: a site may have no page there, or require a password.
        if (start.Length == StatusBytes
            && start.StartsWith("HTTP/1.", StringComparison.Ordinal)
            && int.TryParse(start.AsSpan(9), NumberStyles.None, CultureInfo.InvariantCulture, out int status))
        {
            return new ProbeResult(status < FirstFailure, $"{url} responded with status {status}.");
        }

        return new ProbeResult(false, $"{url} did not respond with HTTP.");
    }

    private static async Task<string> ReadStatusAsync(Uri url, CancellationToken cancellation)
    {
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(url.IdnHost, url.Port, cancellation);
        string request = $"GET {url.PathAndQuery} HTTP/1.1\r\nHost: {url.Authority}\r\nConnection: close\r\n\r\n";
        await socket.SendAsync(Encoding.ASCII.GetBytes(request), cancellation);

        byte[] start = new byte[StatusBytes];
        int received = 0;
        while (received < start.Length && await socket.ReceiveAsync(start.AsMemory(received), cancellation) is > 0 and int more)
        {
            received += more;
        }

        return Encoding.ASCII.GetString(start, 0, received);
    }
}

internal sealed record ProbeResult(bool IsHealthy, string Text);
