namespace Millrace.Http.Tests;

public class HeadLimitsTests
{
    private static readonly HeadLimits Small = new(requestLineBytesMax: 64, headBytesMax: 128, fieldsMax: 3);

    [Fact]
    public void The_defaults_are_no_stricter_than_rfc_9112_section_3_asks()
    {
        Assert.True(HeadLimits.Default.RequestLineBytesMax >= 8000);
        Assert.True(HeadLimits.Default.HeadBytesMax >= HeadLimits.Default.RequestLineBytesMax);
        string target = "/" + new string('a', 8191);
        Assert.True(Heads.Parse($"OPTIONS {target} HTTP/1.1\r\nHost: a\r\n\r\n").IsComplete);
    }

    [Fact]
    public void A_request_line_may_be_as_long_as_the_limit_and_no_longer()
    {
        string target = "/" + new string('a', 64 - "GET / HTTP/1.0\r\n".Length);
        Assert.True(Heads.Parse($"GET {target} HTTP/1.0\r\n\r\n", Small).IsComplete);
        Assert.Equal(HeadResult.Refused(HeadRefusal.RequestLineTooLong), Heads.Parse($"GET {target}a HTTP/1.0\r\n\r\n", Small));
        Assert.Equal(414, HeadRefusals.StatusOf(HeadRefusal.RequestLineTooLong));
    }

    [Fact]
    public void A_request_line_is_too_long_as_soon_as_it_can_be_known()
    {
        Assert.True(Heads.Parse("GET /" + new string('a', 58), Small).IsIncomplete);
        Assert.Equal(HeadResult.Refused(HeadRefusal.RequestLineTooLong), Heads.Parse("GET /" + new string('a', 59), Small));
    }

    // RFC 9112 section 3.
    [Fact]
    public void A_method_that_fills_the_line_is_not_implemented_and_only_a_target_is_too_long()
    {
        Assert.True(Heads.Parse(new string('A', 63), Small).IsIncomplete);
        Assert.Equal(HeadResult.Refused(HeadRefusal.MethodTooLong), Heads.Parse(new string('A', 64), Small));
        Assert.Equal(HeadResult.Refused(HeadRefusal.MethodTooLong), Heads.Parse(new string('A', 70) + " / HTTP/1.1\r\n", Small));
        Assert.Equal(HeadResult.Refused(HeadRefusal.RequestLineTooLong), Heads.Parse(new string('A', 63) + " / HTTP/1.1\r\n", Small));
        Assert.Equal(HeadResult.Refused(HeadRefusal.BadMethod), Heads.Parse(new string('A', 63) + "(", Small));
        Assert.Equal(501, HeadRefusals.StatusOf(HeadRefusal.MethodTooLong));
    }

    [Fact]
    public void A_head_may_be_as_long_as_the_limit_and_no_longer()
    {
        const string Line = "GET / HTTP/1.0\r\n";
        string value = new('a', 128 - Line.Length - "A: \r\n\r\n".Length);
        Assert.True(Heads.Parse($"{Line}A: {value}\r\n\r\n", Small).IsComplete);
        Assert.Equal(HeadResult.Refused(HeadRefusal.HeadTooLarge), Heads.Parse($"{Line}A: {value}a\r\n\r\n", Small));
        Assert.Equal(HeadResult.Refused(HeadRefusal.HeadTooLarge), Heads.Parse($"{Line}A: {value}aaaa", Small));
        Assert.True(Heads.Parse($"{Line}A: {value}aaa", Small).IsIncomplete);
        Assert.Equal(431, HeadRefusals.StatusOf(HeadRefusal.HeadTooLarge));
    }

    [Fact]
    public void Empty_lines_before_a_head_do_not_count_against_its_limits()
    {
        string target = "/" + new string('a', 64 - "GET / HTTP/1.0\r\n".Length);
        Assert.True(Heads.Parse($"\r\n\r\nGET {target} HTTP/1.0\r\n\r\n", Small).IsComplete);

        string rest = new('a', 128 - 64 - "A: \r\n\r\n".Length);
        Assert.True(Heads.Parse($"\r\n\r\nGET {target} HTTP/1.0\r\nA: {rest}\r\n\r\n", Small).IsComplete);
        Assert.True(Heads.Parse($"\r\n\r\nGET {target} HTTP/1.0\r\nA: {rest}a\r\n\r\n", Small).IsRefused);
    }

    [Fact]
    public void There_may_be_as_many_fields_as_the_limit_and_no_more()
    {
        Assert.True(Heads.Parse("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", Small).IsComplete);
        Assert.Equal(HeadResult.Refused(HeadRefusal.TooManyFields), Heads.Parse("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\nD", Small));
        Assert.Equal(431, HeadRefusals.StatusOf(HeadRefusal.TooManyFields));
    }

    [Fact]
    public void Limits_that_contradict_each_other_are_no_limits()
    {
        Assert.Throws<ArgumentOutOfRangeException>(() => new HeadLimits(63, 128, 1));
        Assert.Throws<ArgumentOutOfRangeException>(() => new HeadLimits(128, 127, 1));
        Assert.Throws<ArgumentOutOfRangeException>(() => new HeadLimits(64, 128, 0));
        Assert.Throws<ArgumentOutOfRangeException>(() => new HeadLimits(64, 128, 40_000));
    }

    [Fact]
    public void Bytes_without_an_lf_and_below_the_limits_decide_nothing()
    {
        byte[] bytes = Latin1.Bytes("GET / HTTP/1.1\r\nHost: a\r\nAccept: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        Assert.False(RequestHeadParser.MayBeDecided(bytes.AsSpan(0, 40), 30, Small));
        Assert.True(RequestHeadParser.MayBeDecided(bytes.AsSpan(0, 40), 20, Small));
        Assert.True(RequestHeadParser.MayBeDecided(bytes.AsSpan(0, 64), 63, Small));
        Assert.False(RequestHeadParser.MayBeDecided(bytes.AsSpan(0, 65), 64, Small));

        byte[] long200 = [.. bytes, .. new byte[200 - bytes.Length]];
        Assert.False(RequestHeadParser.MayBeDecided(long200.AsSpan(0, 127), 65, Small));
        Assert.True(RequestHeadParser.MayBeDecided(long200.AsSpan(0, 128), 127, Small));
        Assert.False(RequestHeadParser.MayBeDecided(long200, 128, Small));
    }
}
