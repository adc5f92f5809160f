using System.CommandLine;
using System.Text;
using System.Text.Json;
using Millrace.Server.Configuration;
using Millrace.Server.Terminal;

namespace Millrace.Server.Doctor;

/// <summary>
/// <c>millrace doctor [ROOT] [--json] [flags]</c>: reports settings of this host that make serving slower or impossible, with remedies.
/// </summary>
internal static class DoctorCommand
{
    public static Command Create(OptionFlags flags)
    {
        var root = new Argument<string>("ROOT")
        {
            Description = "The folder that would be served.",
            DefaultValueFactory = static _ => ".",
        };
        var json = new Option<bool>("--json") { Description = "Print the findings as JSON." };
        const string Help =
            "Checks this host for settings that make serving slower (exit status 1) or impossible (2), and prints the remedies.";
        var command = new Command("doctor", Help) { root, json };
        flags.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            IEnumerable<string> roots = parsed.GetResult(root)!.Tokens.Select(static token => token.Value);
            ServerConfiguration configuration = flags.Read(parsed, file: null, roots);
            if (configuration.ReadOrPrintErrors() is not { } options)
            {
                return ExitCode.Usage;
            }

            IReadOnlyList<Finding> findings = HostChecks.Of(await HostReader.ReadAsync(options, configuration.Path));
            OptionNames names = OptionNames.OfProcess;
            findings =
                [.. findings.Select(finding => finding with { Text = names.In(finding.Text), Remedy = names.In(finding.Remedy) })];
            Console.Write(parsed.GetValue(json) ? DoctorReport.Json(findings) : DoctorReport.Text(findings));
            return (int)HostChecks.Worst(findings);
        });
        return command;
    }
}

internal static class DoctorReport
{
    private static readonly JsonWriterOptions Indented = new() { Indented = true, NewLine = "\n" };

    public static string Text(IReadOnlyList<Finding> findings)
    {
        int width = findings.Max(static finding => finding.Subject.Length);
        var text = new StringBuilder();
        foreach (Finding finding in findings)
        {
            text.Append($"{Word(finding.Result),-6}  {finding.Subject.PadRight(width)}  {finding.Text}.\n");
            if (finding.Remedy.Length > 0)
            {
                text.Append($"{"",-6}  {"".PadRight(width)}  {finding.Remedy}\n");
            }
        }

        return text.Append($"\n{Verdict(findings)}\n").ToString();
    }

    public static string Json(IReadOnlyList<Finding> findings)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes, Indented))
        {
            json.WriteStartObject();
            json.WriteString("result", Word(HostChecks.Worst(findings)));
            json.WriteStartArray("findings");
            foreach (Finding finding in findings)
            {
                json.WriteStartObject();
                json.WriteString("subject", finding.Subject);
                json.WriteString("result", Word(finding.Result));
                json.WriteString("finding", finding.Text);
                json.WriteString("remedy", finding.Remedy);
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(bytes.ToArray()) + "\n";
    }

    private static string Verdict(IReadOnlyList<Finding> findings)
    {
        int remedies = findings.Count(static finding => finding.Result == HostCheckResult.Slower);
        return HostChecks.Worst(findings) switch
        {
            HostCheckResult.Ok => "Everything is fine.",
            HostCheckResult.Slower => $"Serving works; {Counted.Of(remedies, "setting")} can be improved.",
            _ => "Serving is not possible.",
        };
    }

    private static string Word(HostCheckResult result) => result switch
    {
        HostCheckResult.Ok => "ok",
        HostCheckResult.Slower => "slower",
        _ => "broken",
    };
}
