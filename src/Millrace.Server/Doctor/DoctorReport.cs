using System.Text;
using System.Text.Json;

namespace Millrace.Server.Doctor;

/// <summary>Formats findings as text and as JSON.</summary>
internal static class DoctorReport
{
    private static readonly JsonWriterOptions Indented = new() { Indented = true, NewLine = "\n" };

    public static string Text(IReadOnlyList<Finding> findings)
    {
        int width = findings.Max(static finding => finding.Subject.Length);
        var text = new StringBuilder();
        foreach (Finding finding in findings)
        {
            text.Append($"{Word(finding.Judgement),-6}  {finding.Subject.PadRight(width)}  {finding.Text}.\n");
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
            json.WriteString("judgement", Word(HostChecks.Worst(findings)));
            json.WriteStartArray("findings");
            foreach (Finding finding in findings)
            {
                json.WriteStartObject();
                json.WriteString("subject", finding.Subject);
                json.WriteString("judgement", Word(finding.Judgement));
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
        int remedies = findings.Count(static finding => finding.Judgement == HostCheckResult.Slower);
        string better = remedies == 1 ? "1 setting can be improved" : $"{remedies} settings can be improved";
        return HostChecks.Worst(findings) switch
        {
            HostCheckResult.Ok => "Everything is fine.",
            HostCheckResult.Slower => $"Serving works; {better}.",
            _ => "Serving is not possible.",
        };
    }

    private static string Word(HostCheckResult judgement) => judgement switch
    {
        HostCheckResult.Ok => "ok",
        HostCheckResult.Slower => "slower",
        _ => "broken",
    };
}
