using System.Diagnostics;
using System.Globalization;

namespace Millrace.Http;

/// <summary>
/// HTTP dates (RFC 9110 section 5.6.7) from and to seconds since the Unix epoch. Writes IMF-fixdate, reads all three forms.
/// </summary>
/// <remarks>
/// Reading is exact and case-sensitive, as the RFC requires. The day's name must be valid but need not match the date: trusting the numbers
/// does no harm.
/// </remarks>
internal static class HttpDate
{
    /// <summary>The length of an IMF-fixdate, the only form that is sent.</summary>
    public const int Bytes = 29;

    private const int RecentYears = 50;

    private static ReadOnlySpan<byte> Days => "SunMonTueWedThuFriSat"u8;

    private static readonly long SecondsMin = Seconds(DateTime.MinValue);
    private static readonly long SecondsMax = Seconds(DateTime.MaxValue);

    /// <summary>Writes <see cref="Bytes"/> bytes. False for a time before the year 1 or after 9999, which has no such form.</summary>
    public static bool TryWrite(long unixSeconds, Span<byte> destination)
    {
        if (unixSeconds < SecondsMin || unixSeconds > SecondsMax)
        {
            return false;
        }

        DateTime time = DateTime.UnixEpoch.AddTicks(unixSeconds * TimeSpan.TicksPerSecond);
        bool written = time.TryFormat(destination, out int bytes, "r", CultureInfo.InvariantCulture);
        Debug.Assert(!written || bytes == Bytes);
        return written;
    }

    /// <summary>Reads a date. The clock is needed only for the century of an obsolete form.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out long unixSeconds)
    {
        long nowUnixSeconds = text.IndexOf((byte)',') > 3 ? DateTimeOffset.UtcNow.ToUnixTimeSeconds() : 0;
        return TryParse(text, nowUnixSeconds, out unixSeconds);
    }

    /// <summary>Reads a date. <paramref name="nowUnixSeconds"/> decides the century of the obsolete form with a two-digit year.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, long nowUnixSeconds, out long unixSeconds)
    {
        unixSeconds = 0;
        int comma = text.IndexOf((byte)',');
        switch (comma)
        {
            case 3: // Sun, 06 Nov 1994 08:49:37 GMT
                return DigitPattern.IsMatch(text, "###, 00 ### 0000 00:00:00 GMT"u8)
                    && IndexIn(Days, text[..3]) >= 0
                    && TryCombine(Number(text.Slice(12, 4)), text.Slice(8, 3), text.Slice(5, 2), text.Slice(17, 8), out unixSeconds);
            case > 3: // Sunday, 06-Nov-94 08:49:37 GMT
                ReadOnlySpan<byte> date = text[comma..];
                return DigitPattern.IsMatch(date, ", 00-###-00 00:00:00 GMT"u8)
                    && IsLongDayName(text[..comma])
                    && TryCombineRecent(
                        Number(date.Slice(9, 2)), date.Slice(5, 3), date.Slice(2, 2), date.Slice(12, 8), nowUnixSeconds, out unixSeconds);
            default: // Sun Nov  6 08:49:37 1994
                return DigitPattern.IsMatch(text, "### ### #0 00:00:00 0000"u8)
                    && IndexIn(Days, text[..3]) >= 0
                    && TryCombine(
                        Number(text[20..]), text.Slice(4, 3), text.Slice(8, 2).TrimStart((byte)' '), text.Slice(11, 8), out unixSeconds);
        }
    }

    private static bool TryCombineRecent(
        int shortYear,
        ReadOnlySpan<byte> month,
        ReadOnlySpan<byte> day,
        ReadOnlySpan<byte> clock,
        long nowUnixSeconds,
        out long unixSeconds)
    {
        unixSeconds = 0;
        if (nowUnixSeconds < SecondsMin || nowUnixSeconds > SecondsMax)
        {
            return false;
        }

        // "more than 50 years in the future" means the most recent past year with the same two digits.
        DateTime now = DateTime.UnixEpoch.AddSeconds(nowUnixSeconds);
        DateTime latest = now.Year > DateTime.MaxValue.Year - RecentYears ? DateTime.MaxValue : now.AddYears(RecentYears);
        int year = now.Year - (now.Year % 100) + shortYear;

        // Feb 29 may exist in one century only, so the year is decided before the day is checked.
        bool isPast = year > latest.Year
            || (year == latest.Year && TryCombine(year, month, day, clock, out long seconds) && seconds > Seconds(latest));
        return TryCombine(isPast ? year - 100 : year, month, day, clock, out unixSeconds);
    }

    private static bool TryCombine(
        int year, ReadOnlySpan<byte> monthName, ReadOnlySpan<byte> dayDigits, ReadOnlySpan<byte> clock, out long unixSeconds)
    {
        unixSeconds = 0;
        int month = IndexIn("JanFebMarAprMayJunJulAugSepOctNovDec"u8, monthName) + 1;
        int day = Number(dayDigits);
        if (year < 1 || month < 1 || day < 1 || day > DateTime.DaysInMonth(year, month))
        {
            return false;
        }

        int hour = Number(clock[..2]);
        int minute = Number(clock.Slice(3, 2));
        int second = Number(clock.Slice(6, 2));

        // 60 is a leap second, which the grammar names; as a Unix time it is the next second.
        if (hour > 23 || minute > 59 || second > 60)
        {
            return false;
        }

        unixSeconds = Seconds(new DateTime(year, month, day)) + (hour * 3600) + (minute * 60) + second;
        return true;
    }

    private static int Number(ReadOnlySpan<byte> digits) => Digits.TryParse(digits, out long value) ? (int)value : -1;

    private static bool IsLongDayName(ReadOnlySpan<byte> name)
        => name.SequenceEqual("Sunday"u8) || name.SequenceEqual("Monday"u8) || name.SequenceEqual("Tuesday"u8)
            || name.SequenceEqual("Wednesday"u8) || name.SequenceEqual("Thursday"u8) || name.SequenceEqual("Friday"u8)
            || name.SequenceEqual("Saturday"u8);

    private static int IndexIn(ReadOnlySpan<byte> names, ReadOnlySpan<byte> name)
    {
        for (int at = 0; at < names.Length; at += 3)
        {
            if (names.Slice(at, 3).SequenceEqual(name))
            {
                return at / 3;
            }
        }

        return -1;
    }

    private static long Seconds(DateTime time) => (time.Ticks - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerSecond;
}
