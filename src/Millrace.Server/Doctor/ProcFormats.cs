using System.Globalization;
using System.Text.RegularExpressions;

namespace Millrace.Server.Doctor;

/// <summary>Parses texts of <c>proc(5)</c> and <c>cgroups(7)</c>. Unexpected text becomes null or empty, never an error.</summary>
internal static partial class ProcFormats
{
    /// <summary>A line of /proc/self/limits; null if unlimited or missing.</summary>
    public static (long? Soft, long? Hard) LimitOf(string limits, string name)
    {
        string? line = limits.Split('\n').FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal));
        string[] words = line?[name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries) ?? [];
        return words.Length < 2 ? (null, null) : (Number(words[0]), Number(words[1]));
    }

    /// <summary>The number of items in a list such as <c>0-3,8</c>.</summary>
    public static int? CountOf(string list)
    {
        int count = 0;
        foreach (string range in list.Split(','))
        {
            string[] ends = range.Split('-');
            if (Number(ends[0]) is not long first || Number(ends[^1]) is not long last || last < first)
            {
                return null;
            }

            count += (int)(last - first + 1);
        }

        return count;
    }

    /// <summary>The ratio of quota and period in us, from cpu.max; null without a limit: <c>max</c> in version 2 and -1 in 1.</summary>
    public static double? QuotaOf(string quotaAndPeriod) =>
        quotaAndPeriod.Split(' ') is [var quota, var period, ..] && Number(quota) is long time && Number(period) is long span and > 0
            ? (double)time / span
            : null;

    /// <summary>The path of this process's group in the unified hierarchy, as a suffix: empty for the root.</summary>
    public static string UnifiedGroupOf(string groups) =>
        groups.Split('\n').FirstOrDefault(line => line.StartsWith("0::", StringComparison.Ordinal))?[3..].TrimEnd('/') ?? "";

    /// <summary>Whether /proc/self/status lists a capability as effective.</summary>
    public static bool HasCapability(string status, int capability) =>
        Effective().Match(status) is { Success: true } match
        && (Convert.ToUInt64(match.Groups["bits"].Value, 16) >> capability & 1) == 1;

    /// <summary>The type of the file system of a path, from /proc/self/mountinfo; empty if none matches.</summary>
    public static string FileSystemOf(string mounts, string path)
    {
        string type = "";
        int longest = -1;
        foreach (Match mount in Mount().Matches(mounts))
        {
            string point = Octal().Replace(mount.Groups["point"].Value, static code => $"{(char)Convert.ToInt32(code.Groups[1].Value, 8)}");
            bool holds = point == "/" || path == point || path.StartsWith(point + "/", StringComparison.Ordinal);
            // A later mount on the same point covers an earlier one.
            if (holds && point.Length >= longest)
            {
                (longest, type) = (point.Length, mount.Groups["type"].Value);
            }
        }

        return type;
    }

    private static long? Number(string text) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long number) ? number : null;

    [GeneratedRegex(@"^CapEff:\s*(?<bits>[0-9a-f]{1,16})$", RegexOptions.Multiline)]
    private static partial Regex Effective();

    // ID, parent, device, root, point, options, optional fields, dash, type.
    [GeneratedRegex(@"^\d+ \d+ \S+ \S+ (?<point>\S+) .*? - (?<type>\S+)", RegexOptions.Multiline)]
    private static partial Regex Mount();

    [GeneratedRegex(@"\\([0-7]{3})")]
    private static partial Regex Octal();
}
