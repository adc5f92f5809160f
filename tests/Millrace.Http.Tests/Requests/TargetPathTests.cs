using System.Text;

namespace Millrace.Http.Tests;

/// <summary>RFC 3986 sections 5.2.4 and 6.2.2, RFC 9110 section 17.3.</summary>
public class TargetPathTests
{
    [Theory]
    [InlineData("", "/")]
    [InlineData("/", "/")]
    [InlineData("/a/b.txt", "/a/b.txt")]
    [InlineData("/a/", "/a/")]
    [InlineData("/%61%2Db", "/a-b")]
    [InlineData("/%e2%82%AC", "/\xE2\x82\xAC")]
    [InlineData("/%2520", "/%20")]
    [InlineData("/%252e%252e/a", "/%2e%2e/a")]
    [InlineData("/a+b", "/a+b")]
    [InlineData("/%3F%23%3b;x", "/?#;;x")]
    [InlineData("/a\\b/..%5c..%5Cc", "/a\\b/..\\..\\c")]
    [InlineData("/%0a%01%7f", "/\n\x01\x7F")]
    [InlineData("/%c0%ae%c0%ae/x", "/\xC0\xAE\xC0\xAE/x")]
    [InlineData("/.well-known/x", "/.well-known/x")]
    [InlineData("/...", "/...")]
    [InlineData("/a/..b/.c", "/a/..b/.c")]
    public void An_escape_is_decoded_exactly_once(string raw, string path) => Is(PathResult.Ok, path, raw);

    [Theory]
    [InlineData("/a/./b", "/a/b")]
    [InlineData("/a/../b", "/b")]
    [InlineData("/a/b/..", "/a/")]
    [InlineData("/a/b/.", "/a/b/")]
    [InlineData("/.", "/")]
    [InlineData("/a/..", "/")]
    [InlineData("/a/%2e%2E/b", "/b")]
    [InlineData("/a/.%2e/b", "/b")]
    [InlineData("/a/%2e/b", "/a/b")]
    [InlineData("/a//../b", "/a/b")]
    public void Dot_segments_are_resolved_however_they_are_spelled(string raw, string path) => Is(PathResult.Ok, path, raw);

    [Theory]
    [InlineData("/..")]
    [InlineData("/../etc/passwd")]
    [InlineData("/a/../../b")]
    [InlineData("/%2e%2e/x")]
    [InlineData("/./../x")]
    [InlineData("/a/../..//x")]
    public void Nothing_leads_above_the_root(string raw) => Is(PathResult.OutsideRoot, null, raw);

    [Theory]
    [InlineData("/a%2fb")]
    [InlineData("/a%2Fb")]
    [InlineData("/..%2f..%2fetc")]
    [InlineData("/a%2fb/../c")]
    public void An_encoded_slash_is_never_a_separator(string raw) => Is(PathResult.SlashInSegment, null, raw);

    [Theory]
    [InlineData("/a%2Fb", "/a/b")]
    [InlineData("/a%2f%2Fb//c%20", "/a//b//c ")]
    [InlineData("/a%2F..b", "/a/..b")]
    [InlineData("/a%2F..", null)]
    [InlineData("/..%2fa", null)]
    [InlineData("/a%2fb/%2e/c", null)]
    [InlineData("/a%2fb/.%2E/c", null)]
    public void For_rules_an_encoded_slash_is_one_unless_dot_segments_make_it_ambiguous(string raw, string? path)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(raw);

        bool isClear = TargetPath.TryDecodeSlashes(bytes, new byte[bytes.Length], out ReadOnlySpan<byte> decoded);

        Assert.Equal(path is not null, isClear);
        Assert.True(path is null || path == Encoding.Latin1.GetString(decoded));
    }

    [Theory]
    [InlineData("", false)]
    [InlineData("/", false)]
    [InlineData("/...", false)]
    [InlineData("/.a/b./..c", false)]
    [InlineData("/a%2E", false)]
    [InlineData("/%", false)]
    [InlineData("/.", true)]
    [InlineData("/..", true)]
    [InlineData("/./a", true)]
    [InlineData("/a/%2e%2E/b", true)]
    [InlineData("/a%2F.%2Fb", true)]
    [InlineData("/a/%2e", true)]
    public void Dot_segments_are_found_in_any_encoding(string raw, bool has) =>
        Assert.Equal(has, TargetPath.HasDotSegment(Encoding.Latin1.GetBytes(raw)));

    [Theory]
    [InlineData("//")]
    [InlineData("//etc")]
    [InlineData("/a//b")]
    [InlineData("/a//")]
    [InlineData("/a//%62", "/a//b")]
    [InlineData("/a/..//b", "//b")]
    public void An_empty_segment_names_no_file_and_is_kept(string raw, string? path = null)
        => Is(PathResult.EmptySegment, path ?? raw, raw);

    [Theory]
    [InlineData("/%")]
    [InlineData("/%4")]
    [InlineData("/%zz")]
    [InlineData("/%4g")]
    [InlineData("/%g4")]
    [InlineData("/%%34")]
    [InlineData("/%00%")]
    public void A_bad_escape_is_refused(string raw) => Is(PathResult.BadEscape, null, raw);

    [Theory]
    [InlineData("/a.txt%00.html")]
    [InlineData("/%00")]
    public void A_nul_is_refused(string raw) => Is(PathResult.NulByte, null, raw);

    [Fact]
    public void A_path_with_nothing_to_decode_is_not_copied()
    {
        byte[] raw = Latin1.Bytes("/assets/site.css");
        Assert.Equal(PathResult.Ok, TargetPath.Decode(raw, default, out ReadOnlySpan<byte> path));
        Assert.True(path == raw.AsSpan());
    }

    [Fact]
    public void A_destination_shorter_than_the_path_is_a_mistake()
        => Assert.Throws<ArgumentOutOfRangeException>(() => TargetPath.Decode("/%41"u8, new byte[3], out _));

    [Fact]
    public void The_decoder_agrees_with_the_reference() => Cases.Run(50_000, random =>
    {
        var raw = new StringBuilder(random.Next(20) == 0 ? "" : "/");
        for (int pieces = raw.Length == 0 ? 0 : random.Next(12); pieces > 0; pieces--)
        {
            raw.Append(random.Pick("/", "/", ".", "..", "%2e", "%2E.", "a", "bc", "\\", "%41", "%20", "%25", "+", "%ff", "/.", "/../", "//")
                + (random.Next(15) == 0 ? random.Pick("%2f", "%00", "%", "%4", "%5c", "%zz") : ""));
        }

        string text = raw.ToString();
        byte[] destination = new byte[text.Length];
        PathResult result = TargetPath.Decode(Latin1.Bytes(text), destination, out ReadOnlySpan<byte> path);
        Assert.Equal((text, ReferencePath.Decode(text)), (text, (result, path.IsEmpty ? null : Latin1.Text(path))));
    });

    [Fact]
    public void No_result_has_a_dot_segment_left() => Cases.Run(20_000, random =>
    {
        byte[] raw = new byte[random.Next(1, 30)];
        for (int at = 0; at < raw.Length; at++)
        {
            raw[at] = at == 0 ? (byte)'/' : (byte)random.Pick("/.%2eE0f5cC".AsSpan());
        }

        if (TargetPath.Decode(raw, new byte[raw.Length], out ReadOnlySpan<byte> path) == PathResult.Ok)
        {
            Assert.DoesNotContain(Latin1.Text(path).Split('/'), segment => segment is "." or "..");
            Assert.Equal((byte)'/', path[0]);
        }
    });

    private static void Is(PathResult expected, string? expectedPath, string raw)
    {
        PathResult result = TargetPath.Decode(Latin1.Bytes(raw), new byte[raw.Length], out ReadOnlySpan<byte> path);
        Assert.Equal((expected, expectedPath), (result, path.IsEmpty ? null : Latin1.Text(path)));
    }
}
