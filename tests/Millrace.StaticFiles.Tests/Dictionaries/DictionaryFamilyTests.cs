using System.Text;
using Millrace.StaticFiles.Dictionaries;

namespace Millrace.StaticFiles.Tests.Dictionaries;

public sealed class DictionaryFamilyTests
{
    [Theory]
    [InlineData("/assets/index-DiwrgT4a.js", "/assets/index-*.js")]
    [InlineData("/assets/index-D_w-gT4a.css", "/assets/index-*.css")]
    [InlineData("/app.3f2a1b9c.js", "/app.*.js")]
    [InlineData("/static/js/main.3f2a1b9c.chunk.js", "/static/js/main.*.chunk.js")]
    [InlineData("/a/vendor-0123456789abcdef0123456789abcdef.min.css", "/a/vendor-*.min.css")]
    [InlineData("/chunk-OXFT4Y2R.js", "/chunk-*.js")]
    [InlineData("/a b/\u00e4-DiwrgT4a.js", "/a%20b/%C3%A4-*.js")]
    public void A_family_has_one_folder_stem_and_extension(string path, string pattern)
    {
        Assert.True(DictionaryFamily.TryOf(Encoding.UTF8.GetBytes(path), out string found));
        Assert.Equal(pattern, found);
    }

    [Theory]
    [InlineData("/assets/DiwrgT4a.js")]
    [InlineData("/_next/static/chunks/0123456789abcdef.js")]
    [InlineData("/assets/index-DiwrgT4a.js.map")]
    [InlineData("/assets/index")]
    [InlineData("/assets/.js")]
    [InlineData("/")]
    [InlineData("/a(b)/index-DiwrgT4a.js")]
    [InlineData("/a:b/index-DiwrgT4a.js")]
    [InlineData("/a*/index-DiwrgT4a.js")]
    [InlineData("/a+/index-DiwrgT4a.js")]
    public void Names_without_a_stem_and_those_that_a_pattern_cannot_say_have_none(string path) =>
        Assert.False(DictionaryFamily.TryOf(Encoding.UTF8.GetBytes(path), out _));

    [Fact]
    public void Any_bytes_give_a_pattern_of_printable_ascii_with_one_asterisk_or_none()
    {
        var random = new Random(1);
        for (int i = 0; i < 50_000; i++)
        {
            byte[] name = new byte[random.Next(1, 30)];
            random.NextBytes(name);
            if (DictionaryFamily.TryOf([(byte)'/', .. name, .. "-DiwrgT4a.js"u8], out string pattern))
            {
                Assert.All(pattern, static one => Assert.InRange(one, '!', '~'));
                Assert.Equal(1, pattern.Count(static one => one == '*'));
                Assert.DoesNotContain('"', pattern);
                Assert.DoesNotContain('\\', pattern);
            }
        }
    }
}
