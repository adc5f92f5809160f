using System.Globalization;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Dates (RFC 9110 section 5.6.7), asked in several years for the sake of the two-digit ones.</summary>
internal sealed class DateTarget : FuzzTarget
{
    private const long AfterTheLastYear = 253_402_300_800;

    private static readonly long[] Nows =
        [.. new[] { 1970, 1999, 2026, 2099 }.Select(year => (long)(new DateTime(year, 7, 1) - DateTime.UnixEpoch).TotalSeconds)];

    private readonly GuardedMemory _written = new(HttpDate.Bytes);

    public override string Name => "date";

    public override int InputBytesMax => 64;

    public override IReadOnlyList<string> Words =>
    [
        "Sun", "Monday", "Wed, ", "Saturday, ", "Feb", "Dec", "29", "30", "31", "00", "60", "61", "23:59:60", "24:00:00", "1900",
        "2000", "0000", "9999", "-72 ", " GMT", " UTC", "  6 ",
    ];

    public override byte[] Generate(Random random)
    {
        DateTime time = DateTime.UnixEpoch.AddSeconds(random.NextInt64(-62_135_596_800, AfterTheLastYear));
        string day = $"{time:dd}";
        string text = random.Next(3) switch
        {
            0 => time.ToString("r", CultureInfo.InvariantCulture),
            1 => time.ToString("dddd, dd-MMM-yy HH:mm:ss 'GMT'", CultureInfo.InvariantCulture),
            _ => time.ToString("ddd MMM ", CultureInfo.InvariantCulture) + (day[0] == '0' ? $" {day[1]}" : day)
                + time.ToString(" HH:mm:ss yyyy", CultureInfo.InvariantCulture),
        };
        return Latin1.Bytes(text);
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string text = Latin1.Text(input);
        string outcome = "";
        foreach (long now in Nows)
        {
            long? read = HttpDate.TryParse(input, now, out long seconds) ? seconds : null;
            Agree($"{ReferenceDate.Read(text, now)}", $"{read}", $"date in {DateTime.UnixEpoch.AddSeconds(now).Year}");
            outcome += read is null ? "none " : $"{text.Length} ";
            if (read is long time)
            {
                CheckRoundTrip(time, now);
            }
        }

        return outcome;
    }

    private void CheckRoundTrip(long time, long now)
    {
        Span<byte> written = _written.Take(HttpDate.Bytes);
        bool isWritten = HttpDate.TryWrite(time, written);

        // A leap second at the end of the year 9999 is beyond what has a form.
        Require(isWritten || time == AfterTheLastYear, $"{time} is read and not written");
        bool isSame = !isWritten || (HttpDate.TryParse(written, now, out long again) && again == time);
        Require(isSame, $"{time} is written as {Latin1.Text(written)}");
    }
}
