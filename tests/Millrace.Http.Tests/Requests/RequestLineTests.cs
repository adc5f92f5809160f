using System.Text;

namespace Millrace.Http.Tests;

/// <summary>RFC 9112 sections 2.2 and 3.</summary>
public class RequestLineTests
{
    [Theory]
    [InlineData("GET", Method.Get)]
    [InlineData("HEAD", Method.Head)]
    [InlineData("OPTIONS", Method.Options)]
    [InlineData("POST", Method.Post)]
    [InlineData("PUT", Method.Put)]
    [InlineData("DELETE", Method.Delete)]
    [InlineData("TRACE", Method.Trace)]
    [InlineData("PATCH", Method.Patch)]
    internal void A_method_is_known_by_its_exact_name(string text, Method method)
    {
        (RequestHead head, byte[] bytes) = Heads.Complete($"{text} / HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(method, head.Method);
        Assert.Equal(text, head.MethodText.Text(bytes));
    }

    [Theory]
    [InlineData("PURGE")]
    [InlineData("get")]
    [InlineData("GETS")]
    [InlineData("GE")]
    [InlineData("OPTIONSX")]
    [InlineData("!#$%&'*+-.^_`|~09")]
    public void Another_token_is_an_unknown_method_whose_name_is_kept(string text)
    {
        (RequestHead head, byte[] bytes) = Heads.Complete($"{text} / HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(Method.Unknown, head.Method);
        Assert.Equal(text, head.MethodText.Text(bytes));
    }

    [Fact]
    public void A_longer_or_shorter_name_than_a_known_one_is_another_method()
    {
        foreach (string known in Enum.GetNames<Method>().Skip(1).Select(name => name.ToUpperInvariant()))
        {
            foreach (string text in new[] { known + "X", known[..^1], "X" + known })
            {
                (RequestHead head, byte[] bytes) = Heads.Complete($"{text} / HTTP/1.1\r\nHost: a\r\n\r\n");
                Assert.Equal((Method.Unknown, text), (head.Method, head.MethodText.Text(bytes)));
            }
        }
    }

    [Theory]
    [InlineData(" GET / HTTP/1.1\r\n")]
    [InlineData("G(T / HTTP/1.1\r\n")]
    [InlineData("GET\t/ HTTP/1.1\r\n")]
    [InlineData("GET\r\n")]
    [InlineData(":")]
    [InlineData("G\x80")]
    public void A_method_that_is_no_token_is_refused(string text) => Heads.IsRefused(HeadRefusal.BadMethod, text);

    [Fact]
    public void A_tls_client_hello_is_refused_at_its_first_byte() => Heads.IsRefused(HeadRefusal.BadMethod, "\x16\x03\x01");

    [Theory]
    [InlineData("1.0", HttpVersion.Http10)]
    [InlineData("1.1", HttpVersion.Http11)]
    [InlineData("1.2", HttpVersion.Http11)]
    [InlineData("1.9", HttpVersion.Http11)]
    internal void A_minor_version_above_1_is_handled_as_1_1_as_rfc_9110_section_2_5_says(string text, HttpVersion version)
        => Assert.Equal(version, Heads.Complete($"GET / HTTP/{text}\r\nHost: a\r\n\r\n").Head.Version);

    [Theory]
    [InlineData("2.0")]
    [InlineData("0.9")]
    [InlineData("3.1")]
    public void Another_major_version_is_refused_with_505(string version)
    {
        Heads.IsRefused(HeadRefusal.VersionNotSupported, $"GET / HTTP/{version}\r\n");
        Assert.Equal(505, HeadRefusals.StatusOf(HeadRefusal.VersionNotSupported));
    }

    [Theory]
    [InlineData("GET / http/1.1\r\n")]
    [InlineData("GET / HTTP/1.1 \r\n")]
    [InlineData("GET /  HTTP/1.1\r\n")]
    [InlineData("GET / HTTP/1.10\r\n")]
    [InlineData("GET / HTTP/1,1\r\n")]
    [InlineData("GET / HTTP/x.1\r\n")]
    [InlineData("GET / HTTP/1\r\n")]
    [InlineData("GET / \r\n")]
    public void A_malformed_version_is_refused(string text) => Heads.IsRefused(HeadRefusal.BadVersion, text);

    [Fact]
    public void A_request_line_of_http_0_9_is_refused_with_400()
    {
        Heads.IsRefused(HeadRefusal.MissingVersion, "GET /\r\n");
        Assert.Equal(400, HeadRefusals.StatusOf(HeadRefusal.MissingVersion));
    }

    [Theory]
    [InlineData("\0")]
    [InlineData("\x01")]
    [InlineData("\t")]
    [InlineData("\x7F")]
    [InlineData("#fragment")]
    [InlineData("\x80")]
    [InlineData("\xC3\xA9")]
    [InlineData("\xFF")]
    public void A_control_a_fragment_and_raw_obs_text_in_the_target_are_refused(string text)
        => Heads.IsRefused(HeadRefusal.BadTarget, $"GET /{text} HTTP/1.1\r\n");

    [Fact]
    public void Two_spaces_before_the_target_are_refused() => Heads.IsRefused(HeadRefusal.BadTarget, "GET  / HTTP/1.1\r\n");

    [Fact]
    public void A_space_in_the_target_is_refused() => Heads.IsRefused(HeadRefusal.BadVersion, "GET /a b HTTP/1.1\r\n");

    [Fact]
    public void Every_visible_character_but_a_hash_may_stand_in_a_target()
    {
        for (int value = 0; value < 256; value++)
        {
            // At every place of a vector: the check must not depend on where the byte lies.
            string padding = new('a', value % 67);
            HeadResult result = Heads.Parse($"GET /{padding}{(char)value}b HTTP/1.0\r\n\r\n");
            Assert.Equal(value is > 0x20 and < 0x7F and not '#', result.IsComplete);
        }
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\n")]
    [InlineData("GET /\n")]
    [InlineData("GET\n")]
    [InlineData("GET \n")]
    [InlineData("GET / HTTP\n")]
    [InlineData("\nGET / HTTP/1.1\r\n")]
    [InlineData("\r\n\nGET / HTTP/1.1\r\n")]
    public void A_bare_lf_in_or_before_the_request_line_is_refused(string text) => Heads.IsRefused(HeadRefusal.BareLf, text);

    [Theory]
    [InlineData("GET / HTTP/1.1\r\r\n")]
    [InlineData("GET / HTTP/1.1\rHost: a\r\n")]
    [InlineData("\rGET / HTTP/1.1\r\n")]
    public void A_bare_cr_at_or_before_the_request_line_is_refused(string text) => Heads.IsRefused(HeadRefusal.BareCr, text);

    [Fact]
    public void Empty_lines_before_the_request_line_are_skipped_up_to_four()
    {
        const string Head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        Assert.Equal(HeadResult.Complete(Head.Length + 8), Heads.Parse("\r\n\r\n\r\n\r\n" + Head));
        Heads.IsRefused(HeadRefusal.TooManyEmptyLines, "\r\n\r\n\r\n\r\n\r\n" + Head);
        Heads.IsRefused(HeadRefusal.TooManyEmptyLines, "\r\n\r\n\r\n\r\n\r");
        Assert.Equal(HeadResult.Incomplete, Heads.Parse("\r\n\r\n\r\n\r\n"));
    }

    [Theory]
    [InlineData("\r\n", 1)]
    [InlineData("\r\n\r\n\r\n\r\n", RequestHeadParser.EmptyLinesMax)]
    [InlineData("", 0)]
    [InlineData("\r", 0)]
    [InlineData("\n\n", 0)]
    [InlineData("\r\r", 0)]
    [InlineData("\r\n\r", 0)]
    [InlineData("\r\nG", 0)]
    [InlineData("\r\nGE", 0)]
    [InlineData("\r\n\r\n\r\n\r\n\r\n", 0)]
    public void Empty_lines_are_counted_where_there_is_nothing_else(string text, int lines) =>
        Assert.Equal(lines, RequestHeadParser.CountEmptyLines(Encoding.Latin1.GetBytes(text)));

    [Fact]
    public void Ranges_of_a_head_after_empty_lines_are_right()
    {
        (RequestHead head, byte[] bytes) = Heads.Complete("\r\n\r\nGET /a?b HTTP/1.1\r\nHost: h\r\n\r\n");
        Assert.Equal("/a", head.Target.Path.Text(bytes));
        Assert.Equal("h", head.Authority.Text(bytes));
    }

    [Fact]
    public void Nothing_and_the_beginning_of_a_head_are_incomplete()
    {
        Assert.True(Heads.Parse("").IsIncomplete);
        Assert.True(Heads.Parse("G").IsIncomplete);
        Assert.True(Heads.Parse("GET / HTTP/1.1\r\nHost: a\r\n\r").IsIncomplete);
    }

    [Fact]
    public void The_shortest_heads_are_complete_although_no_vector_fits_into_them()
    {
        Assert.Equal(HeadResult.Complete(18), Heads.Parse("GET / HTTP/1.0\r\n\r\n"));
        Assert.Equal(HeadResult.Complete(26), Heads.Parse("GET / HTTP/1.1\r\nHost:a\r\n\r\n"));
    }

    [Fact]
    public void What_follows_a_head_is_not_consumed()
        => Assert.Equal(HeadResult.Complete(18), Heads.Parse("GET / HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"));

    [Fact]
    public void Every_refusal_has_a_status_and_no_refusal_has_none()
    {
        foreach (HeadRefusal refusal in Enum.GetValues<HeadRefusal>().Where(refusal => refusal != HeadRefusal.None))
        {
            Assert.Contains(HeadRefusals.StatusOf(refusal), new[] { 400, 414, 431, 501, 505 });
        }

        Assert.Throws<ArgumentOutOfRangeException>(() => HeadRefusals.StatusOf(HeadRefusal.None));
    }
}
