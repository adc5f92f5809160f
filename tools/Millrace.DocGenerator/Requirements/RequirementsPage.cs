using System.Globalization;
using System.Text;

namespace Millrace.DocGenerator.Requirements;

/// <summary>Writes docs/quic-requirements.md from the lists of requirements.</summary>
internal static class RequirementsPage
{
    public const string Path = "docs/quic-requirements.md";

    private static readonly Dictionary<string, string> Titles = new()
    {
        ["9000"] = "QUIC: transport",
        ["9001"] = "QUIC: TLS",
        ["9002"] = "QUIC: loss detection and congestion control",
        ["9114"] = "HTTP/3",
        ["9204"] = "QPACK",
    };

    public static string Of(string root)
    {
        var rfcs = Requirement.ReadAll(root);
        var text = new StringBuilder(
            $"""
            # Requirements of QUIC and HTTP/3

            Each MUST of the RFCs of QUIC and HTTP/3, and the tests that hold it; or why it does not apply; or what is missing. Written by
            `tools/Millrace.DocGenerator` from `{Requirement.Folder}`: change the lists, not this page.

            | RFC | | tested | does not apply | open | all |
            |---|---|---|---|---|---|

            """);
        foreach ((string rfc, IReadOnlyList<Requirement> all) in rfcs)
        {
            int outside = all.Count(static one => one.IsNotApplicable);
            int open = all.Count(static one => one.IsOpen);
            text.Append(
                CultureInfo.InvariantCulture,
                $"| [{rfc}](#rfc-{rfc}) | {Titles[rfc]} | {all.Count - outside - open} | {outside} | {open} | {all.Count} |\n");
        }

        foreach ((string rfc, IReadOnlyList<Requirement> all) in rfcs)
        {
            text.Append(CultureInfo.InvariantCulture, $"\n## RFC {rfc}\n\n| Section | Requirement | Held by |\n|---|---|---|\n");
            foreach (Requirement one in all)
            {
                string holder = one.Tests.Count == 0 ? one.Holder : string.Join("<br>", one.Tests.Select(static test => $"`{test}`"));
                text.Append(CultureInfo.InvariantCulture, $"| {one.Section} | {one.Text} | {holder} |\n");
            }
        }

        return text.ToString();
    }
}
