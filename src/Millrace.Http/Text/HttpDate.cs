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
        return comma switch
        {
            3 => TryParseFixdate(text, out unixSeconds),
            > 3 => TryParseRfc850(text, comma, nowUnixSeconds, out unixSeconds),
            _ => TryParseAsctime(text, out unixSeconds),
        };
    }

    // Sun, 06 Nov 1994 08:49:37 GMT
    private static bool TryParseFixdate(ReadOnlySpan<byte> text, out long unixSeconds)
    {
        unixSeconds = 0;
        return text.Length == Bytes
            && DayOf(text[..3]) >= 0 && text[4] == ' ' && text[7] == ' ' && text[11] == ' ' && text[16] == ' '
            && text[25..].SequenceEqual(" GMT"u8)
            && TryCombine(
                Number(text.Slice(12, 4)),
                MonthOf(text.Slice(8, 3)),
                Number(text.Slice(5, 2)),
                text.Slice(17, 8),
                out unixSeconds);
    }

    // Sunday, 06-Nov-94 08:49:37 GMT
    private static bool TryParseRfc850(ReadOnlySpan<byte> text, int comma, long nowUnixSeconds, out long unixSeconds)
    {
        unixSeconds = 0;
        ReadOnlySpan<byte> date = text[comma..];
        if (date.Length != 24 || !IsLongDayName(text[..comma])
            || date[1] != ' ' || date[4] != '-' || date[8] != '-' || date[11] != ' ' || !date[20..].SequenceEqual(" GMT"u8))
        {
            return false;
        }

        int shortYear = Number(date.Slice(9, 2));
        if (shortYear < 0 || nowUnixSeconds < SecondsMin || nowUnixSeconds > SecondsMax)
        {
            return false;
        }

        // "more than 50 years in the future" means the most recent past year with the same two digits.
        int nowYear = DateTime.UnixEpoch.AddSeconds(nowUnixSeconds).Year;
        int year = nowYear - (nowYear % 100) + shortYear;
        return TryCombineRecent(
            year,
            MonthOf(date.Slice(5, 3)),
            Number(date.Slice(2, 2)),
            date.Slice(12, 8),
            nowUnixSeconds,
            out unixSeconds);
    }

    // Sun Nov  6 08:49:37 1994
    private static bool TryParseAsctime(ReadOnlySpan<byte> text, out long unixSeconds)
    {
        unixSeconds = 0;
        return text.Length == 24
            && DayOf(text[..3]) >= 0 && text[3] == ' ' && text[7] == ' ' && text[10] == ' ' && text[19] == ' '
            && TryCombine(
                Number(text[20..]),
                MonthOf(text.Slice(4, 3)),
                Number(text.Slice(text[8] == ' ' ? 9 : 8, text[8] == ' ' ? 1 : 2)),
                text.Slice(11, 8),
                out unixSeconds);
    }

    private static bool TryCombineRecent(int year, int month, int day, ReadOnlySpan<byte> clock, long nowUnixSeconds, out long unixSeconds)
    {
        DateTime now = DateTime.UnixEpoch.AddSeconds(nowUnixSeconds);
        DateTime latest = now.Year > DateTime.MaxValue.Year - RecentYears ? DateTime.MaxValue : now.AddYears(RecentYears);

        // Feb 29 may exist in one century only, so the year is decided before the day is checked.
        bool isPast = year > latest.Year
            || (year == latest.Year && TryCombine(year, month, day, clock, out long seconds) && seconds > Seconds(latest));
        return TryCombine(isPast ? year - 100 : year, month, day, clock, out unixSeconds);
    }

    private static bool TryCombine(int year, int month, int day, ReadOnlySpan<byte> clock, out long unixSeconds)
    {
        unixSeconds = 0;
        if (year < 1 || month < 1 || day < 1 || day > DateTime.DaysInMonth(year, month) || clock[2] != ':' || clock[5] != ':')
        {
            return false;
        }

        int hour = Number(clock[..2]);
        int minute = Number(clock.Slice(3, 2));
        int second = Number(clock.Slice(6, 2));

        // 60 is a leap second, which the grammar names; as a Unix time it is the next second.
        if (hour is < 0 or > 23 || minute is < 0 or > 59 || second is < 0 or > 60)
        {
            return false;
        }

        unixSeconds = Seconds(new DateTime(year, month, day)) + (hour * 3600) + (minute * 60) + second;
        return true;
    }

    private static int Number(ReadOnlySpan<byte> digits)
    {
        int value = 0;
        foreach (byte digit in digits)
        {
            if (!char.IsAsciiDigit((char)digit))
            {
                return -1;
            }

            value = (value * 10) + digit - '0';
        }

        return value;
    }

    private static int MonthOf(ReadOnlySpan<byte> name) => IndexIn("JanFebMarAprMayJunJulAugSepOctNovDec"u8, name) + 1;

    private static int DayOf(ReadOnlySpan<byte> name) => IndexIn("SunMonTueWedThuFriSat"u8, name);

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
