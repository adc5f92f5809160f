using System.Globalization;
using System.Text.RegularExpressions;

namespace Millrace.Models;

/// <summary>The three forms of a date (RFC 9110 section 5.6.7) as three regular expressions, and the calendar of the runtime.</summary>
internal static partial class ReferenceDate
{
    private const string Days = "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
    private const string LongDays = "(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)";
    private const string Month = "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
    private const string Clock = "(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})";
    private const string Day = "(?<day>[0-9]{2})";

    /// <summary>The time in seconds since the Unix epoch, or null; <paramref name="now"/> decides the century of a short year.</summary>
    public static long? Read(string text, long now)
    {
        Match match = new[] { Fixdate(), Rfc850(), Asctime() }.Select(form => form.Match(text)).FirstOrDefault(found => found.Success, Match.Empty);
        if (!match.Success)
        {
            return null;
        }

        int year = Number(match.Groups["year"]);
        if (match.Groups["year"].Length == 4)
        {
            return TimeOf(match, year);
        }

        DateTime limit = DateTime.UnixEpoch.AddSeconds(now).AddYears(50);
        year += DateTime.UnixEpoch.AddSeconds(now).Year / 100 * 100;
        bool isTooFar = year > limit.Year || (year == limit.Year && TimeOf(match, year) > (limit.Ticks - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerSecond);
        return TimeOf(match, isTooFar ? year - 100 : year);
    }

    private static long? TimeOf(Match match, int year)
    {
        // A leap second is the second after (the RFC's grammar has 60).
        int second = Number(match.Groups["second"]);
        string text = $"{year:0000} {match.Groups["month"].Value} {Number(match.Groups["day"]):00} "
            + $"{match.Groups["hour"].Value}:{match.Groups["minute"].Value}:{(second == 60 ? 59 : second):00}";
        return DateTime.TryParseExact(text, "yyyy MMM dd HH:mm:ss", CultureInfo.InvariantCulture, DateTimeStyles.None, out DateTime time)
            ? ((time.Ticks - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerSecond) + (second == 60 ? 1 : 0)
            : null;
    }

    private static int Number(Group group) => int.Parse(group.Value.Trim(), CultureInfo.InvariantCulture);

    [GeneratedRegex($@"\A{Days}, {Day} {Month} (?<year>[0-9]{{4}}) {Clock} GMT\z", RegexOptions.ExplicitCapture)]
    private static partial Regex Fixdate();

    [GeneratedRegex($@"\A{LongDays}, {Day}-{Month}-(?<year>[0-9]{{2}}) {Clock} GMT\z", RegexOptions.ExplicitCapture)]
    private static partial Regex Rfc850();

    [GeneratedRegex($@"\A{Days} {Month} (?<day>[ 0-9][0-9]) {Clock} (?<year>[0-9]{{4}})\z", RegexOptions.ExplicitCapture)]
    private static partial Regex Asctime();
}
