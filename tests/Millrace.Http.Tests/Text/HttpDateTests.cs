using System.Globalization;
using System.Text;

namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 5.6.7.</summary>
public class HttpDateTests
{
    private const long Example = 784111777;
    private static readonly long Now = Unix(new DateTime(2026, 7, 1));

    [Theory]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sunday, 06-Nov-94 08:49:37 GMT")]
    [InlineData("Sun Nov  6 08:49:37 1994")]
    public void The_three_forms_of_the_rfc_are_one_time(string text) => Assert.Equal(Example, Parse(text));

    [Fact]
    public void A_date_is_written_as_imf_fixdate()
    {
        byte[] bytes = new byte[HttpDate.Bytes];
        Assert.True(HttpDate.TryWrite(Example, bytes));
        Assert.Equal("Sun, 06 Nov 1994 08:49:37 GMT", Encoding.ASCII.GetString(bytes));
        Assert.False(HttpDate.TryWrite(Example, new byte[HttpDate.Bytes - 1]));
    }

    [Fact]
    public void A_time_without_a_four_digit_year_is_not_written()
    {
        byte[] bytes = new byte[HttpDate.Bytes];
        Assert.False(HttpDate.TryWrite(Unix(DateTime.MaxValue) + 1, bytes));
        Assert.False(HttpDate.TryWrite(Unix(DateTime.MinValue) - 1, bytes));
        Assert.False(HttpDate.TryWrite(long.MaxValue, bytes));
        Assert.False(HttpDate.TryWrite(long.MinValue, bytes));
        Assert.True(HttpDate.TryWrite(Unix(DateTime.MaxValue), bytes));
        Assert.True(HttpDate.TryWrite(Unix(DateTime.MinValue), bytes));
    }

    [Theory]
    [InlineData("")]
    [InlineData("0")]
    [InlineData(",,,")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 gmt")]
    [InlineData("sun, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 UTC")]
    [InlineData("Sun, 06 Nov 1994 08:49:37")]
    [InlineData("Sun, 6 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT ")]
    [InlineData("Sun, 31 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 00 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 29 Feb 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 0000 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 24:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:60:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:61 GMT")]
    [InlineData("Sun, 06 Nov 1994 08-49-37 GMT")]
    [InlineData("Sun, 06 ovD 1994 08:49:37 GMT")]
    [InlineData("unM, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, +6 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun,_06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06-Nov-1994 08:49:37 GMT")]
    [InlineData("Sunday, 06-Nov-1994 08:49:37 GMT")]
    [InlineData("Sundae, 06-Nov-94 08:49:37 GMT")]
    [InlineData("Sunday, 06-Nov-x4 08:49:37 GMT")]
    [InlineData("Sunday, 06 Nov 94 08:49:37 GMT")]
    [InlineData("Sunday, 06-Nov-94 08:49:37 EST")]
    [InlineData("Sun Nov 6 08:49:37 1994")]
    [InlineData("Sun Nov  6 08:49:37 94")]
    [InlineData("Sun Nov    08:49:37 1994")]
    [InlineData("Sun Nov  6 08:49:37 1994 ")]
    public void Anything_else_is_no_date(string text) => Assert.Null(Parse(text));

    [Fact]
    public void A_leap_second_is_the_second_after()
        => Assert.Equal(Parse("Sun, 01 Jan 2017 00:00:00 GMT"), Parse("Sat, 31 Dec 2016 23:59:60 GMT"));

    [Theory]
    [InlineData("Wednesday, 01-Jul-76 00:00:00 GMT", 2076)]
    [InlineData("Wednesday, 01-Jul-76 00:00:01 GMT", 1976)]
    [InlineData("Saturday, 01-Jan-77 00:00:00 GMT", 1977)]
    [InlineData("Friday, 01-Jan-99 00:00:00 GMT", 1999)]
    [InlineData("Saturday, 01-Jan-00 00:00:00 GMT", 2000)]
    [InlineData("Tuesday, 29-Feb-72 00:00:00 GMT", 2072)]
    public void A_two_digit_year_is_never_more_than_50_years_ahead(string text, int year)
        => Assert.Equal(year, DateTime.UnixEpoch.AddSeconds(Parse(text)!.Value).Year);

    [Fact]
    public void Without_a_time_given_the_clock_decides_the_century()
    {
        DateTime ahead = DateTime.UtcNow.AddYears(40);
        DateTime past = DateTime.UtcNow.AddYears(-40);
        foreach (DateTime time in new[] { ahead, past })
        {
            string text = time.ToString("dddd, dd-MMM-yy HH:mm:ss 'GMT'", CultureInfo.InvariantCulture);
            Assert.True(HttpDate.TryParse(Encoding.ASCII.GetBytes(text), out long seconds));
            Assert.Equal(Unix(time), seconds);
        }

        Assert.True(HttpDate.TryParse("Sun, 06 Nov 1994 08:49:37 GMT"u8, out long example));
        Assert.Equal(Example, example);
        Assert.True(HttpDate.TryParse("Sun Nov  6 08:49:37 1994"u8, out example));
        Assert.Equal(Example, example);
        Assert.False(HttpDate.TryParse("Sunday"u8, out _));
    }

    [Fact]
    public void Dates_round_trip_and_agree_with_the_runtime() => Cases.Run(30_000, random =>
    {
        long seconds = random.NextInt64(Unix(DateTime.MinValue), Unix(DateTime.MaxValue));
        DateTime time = DateTime.UnixEpoch.AddSeconds(seconds);
        byte[] bytes = new byte[HttpDate.Bytes];
        Assert.True(HttpDate.TryWrite(seconds, bytes));
        Assert.Equal(time.ToString("r", CultureInfo.InvariantCulture), Encoding.ASCII.GetString(bytes));
        Assert.Equal(seconds, Parse(Encoding.ASCII.GetString(bytes)));
        Assert.Equal(seconds, Parse(time.ToString("ddd MMM ", CultureInfo.InvariantCulture) + $"{time.Day,2} {time:HH:mm:ss yyyy}"));
    });

    [Fact]
    public void Two_digit_years_agree_with_a_search_for_the_year() => Cases.Run(20_000, random =>
    {
        DateTime now = DateTime.UnixEpoch.AddSeconds(random.NextInt64(Unix(new DateTime(200, 1, 1)), Unix(new DateTime(9900, 1, 1))));
        DateTime time = new DateTime((now.Year / 100 * 100) + random.Next(100), 1, 1).AddSeconds(random.Next(31_000_000));
        string text = time.ToString("dddd, dd-MMM-yy HH:mm:ss 'GMT'", CultureInfo.InvariantCulture);

        // The last day of a February of 29 days may not exist 100 years before.
        DateTime expected = time > now.AddYears(50) ? time.AddYears(-100) : time;
        Assert.Equal((text, expected.Day == time.Day ? Unix(expected) : (long?)null), (text, Parse(text, Unix(now))));
    });

    [Fact]
    public void A_mutated_date_is_what_the_runtime_says_it_is() => Cases.Run(30_000, random =>
    {
        char[] text = "Sun, 06 Nov 1994 08:49:37 GMT".ToCharArray();
        text[random.Next(text.Length)] = random.Pick("0123456789 :,GSM".AsSpan());

        // The runtime checks the day's name against the date and this parser does not, so the comparison leaves it out.
        string mutated = new(text);
        bool isName = mutated[..3] is "Sun" or "Mon" or "Tue" or "Wed" or "Thu" or "Fri" or "Sat" && mutated[3] == ',';
        bool isDate = DateTime.TryParseExact(
            mutated[4..], "' 'dd MMM yyyy HH:mm:ss 'GMT'", CultureInfo.InvariantCulture, DateTimeStyles.None, out DateTime time);
        Assert.Equal((mutated, isName && isDate ? Unix(time) : (long?)null), (mutated, Parse(mutated)));
    });

    private static long? Parse(string text) => Parse(text, Now);

    private static long? Parse(string text, long now)
        => HttpDate.TryParse(Encoding.Latin1.GetBytes(text), now, out long seconds) ? seconds : null;

    private static long Unix(DateTime time) => (time.Ticks - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerSecond;
}
