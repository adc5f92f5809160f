using System.Text;
using System.Text.Json;

namespace Millrace.Server.Doctor;

/// <summary>Findings for people and for programs.</summary>
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
            json.WriteString("judgement", Word(Examination.Worst(findings)));
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
        int remedies = findings.Count(static finding => finding.Judgement == Judgement.Slower);
        string better = remedies == 1 ? "1 thing would make it better" : $"{remedies} things would make it better";
        return Examination.Worst(findings) switch
        {
            Judgement.Ok => "It serves as well as it can here.",
            Judgement.Slower => $"It serves; {better}.",
            _ => "It cannot serve like this.",
        };
    }

    private static string Word(Judgement judgement) => judgement switch
    {
        Judgement.Ok => "ok",
        Judgement.Slower => "slower",
        _ => "broken",
    };
}
