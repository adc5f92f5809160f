using System.CommandLine;
using System.CommandLine.Parsing;
using System.Globalization;
using System.Net.Sockets;
using Millrace.Interop.Sockets;
using Millrace.Server.Http3;
using Millrace.Server.Terminal;

namespace Millrace.Server.Commands;

/// <summary><c>millrace probe URL</c>: sends one request to a server, for health checks without curl.</summary>
internal static class ProbeCommand
{
    private const int SecondsDefault = 3;
    private const int SecondsMax = 3600;

    public static Command Create()
    {
        var timeout = new Option<int>("--timeout")
        {
            Description = $"Timeout in seconds. [default: {SecondsDefault}]",
            HelpName = "SECONDS",
            DefaultValueFactory = static _ => SecondsDefault,
            CustomParser = ParseSeconds,
        };
        // A text: the server's switch of this name has been completed by its value.
        var http3 = new Option<string>("--http3")
        {
            Description = "Request over HTTP/3, which needs an https URL.",
            HelpName = "on|off",
            DefaultValueFactory = static _ => "off",
        };
        var url = new Argument<Uri>("URL")
        {
            Description = "The URL to request, such as http://127.0.0.1:8080/; with --http3 an https URL.",
            CustomParser = result => ParseUrl(result, result.GetValue(http3) == "on"),
        };
        var authorities = new Option<string>("--ca")
        {
            Description = "PEM file of the certificates to trust with --http3. [default: the system's]",
            HelpName = "FILE",
        };
        const string Help =
            "Sends one request to a server. Exit status: 0 if it responds, 1 if it does not, or responds with 500 or above.";
        var command = new Command("probe", Help) { url, timeout, http3, authorities };
        command.SetAction(async (parsed, cancellation) =>
        {
            var limit = TimeSpan.FromSeconds(parsed.GetValue(timeout));
            Uri asked = parsed.GetValue(url)!;
            ProbeResult result = parsed.GetValue(http3) == "on"
                ? await Http3Probe.AskAsync(asked, parsed.GetValue(authorities), limit, cancellation)
                : await ServerProbe.AskAsync(asked, limit, cancellation);
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

    private static Uri? ParseUrl(ArgumentResult result, bool isHttp3)
    {
        string text = result.Tokens is [{ } token] ? token.Value : "";
        if (!Uri.TryCreate(text, UriKind.Absolute, out Uri? url) || (url.Scheme != Uri.UriSchemeHttp && url.Scheme != Uri.UriSchemeHttps))
        {
            result.AddError($"'{text}' cannot be probed: use a URL such as http://127.0.0.1:8080/ (https only with --http3).");
        }
        else if (ProblemOf(url, isHttp3) is { } problem)
        {
            result.AddError(problem);
        }

        return url;
    }

    private static string? ProblemOf(Uri url, bool isHttp3) => (isHttp3, url.Scheme == Uri.UriSchemeHttps) switch
    {
        (true, false) => $"'{url}' cannot be probed over HTTP/3: use an https URL.",
        (false, true) => $"'{url}' cannot be probed without --http3, as it is https: add it, or probe the admin pages (--admin), such as "
            + "http://127.0.0.1:9180/readyz.",
        _ => null,
    };
}

/// <summary>Sends one request and judges the server by the status of the response.</summary>
internal static class ServerProbe
{
    /// <summary>A lower status means that the server works: a site may have no page there, or require a password.</summary>
    private const int FirstFailure = 500;

    /// <summary>Never throws: errors become the result.</summary>
    public static async Task<ProbeResult> AskAsync(Uri url, TimeSpan timeout, CancellationToken cancellation)
    {
        // This server is asked, not a proxy that environment variables name, nor the target of a redirect.
        using var handler = new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false };
        using var client = new HttpClient(handler) { Timeout = timeout };
        try
        {
            using HttpResponseMessage response = await client.GetAsync(url, HttpCompletionOption.ResponseHeadersRead, cancellation);
            int status = (int)response.StatusCode;
            return new ProbeResult(status < FirstFailure, $"{url} responded with status {status}.");
        }
        catch (HttpRequestException error) when (error.InnerException is SocketException refusal)
        {
            return new ProbeResult(false, $"{url} does not respond: {NetworkProblem.Of(refusal)}.");
        }
        catch (HttpRequestException)
        {
            return new ProbeResult(false, $"{url} did not respond with HTTP.");
        }
        catch (OperationCanceledException)
        {
            return new ProbeResult(false, $"{url} did not respond within {timeout.TotalSeconds} s.");
        }
    }
}

internal sealed record ProbeResult(bool IsHealthy, string Text);
