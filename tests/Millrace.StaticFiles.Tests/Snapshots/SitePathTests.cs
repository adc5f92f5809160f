using System.Text;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Snapshots;

public class SitePathTests
{
    [Theory]
    [InlineData("", "/")]
    [InlineData("/a/b c", "/a/b c")]
    [InlineData("/a\nwarn: forged\u001b[31m\u0085", "/a?warn: forged?[31m?")]
    public void Its_text_forges_no_line(string path, string text) => Assert.Equal(text, SitePath.Of(Encoding.UTF8.GetBytes(path)).ToText());
}
