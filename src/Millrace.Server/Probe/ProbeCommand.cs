using System.CommandLine;
using System.CommandLine.Parsing;

namespace Millrace.Server.Probe;

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
        };
        timeout.Validators.Add(static result =>
        {
            if (result.GetValueOrDefault<int>() is < 1 or > SecondsMax)
            {
                result.AddError($"--timeout must be 1 to {SecondsMax} seconds.");
            }
        });
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

    private static Uri? ParseUrl(ArgumentResult result)
    {
        string text = result.Tokens is [{ } token] ? token.Value : "";
        if (Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && url.Scheme == Uri.UriSchemeHttp)
        {
            return url;
        }

        result.AddError($"'{text}' is not a URL that can be probed: use the form http://127.0.0.1:8080/.");
        return null;
    }
}
