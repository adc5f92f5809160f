using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Rules;

public class CachePolicyTests
{
    [Theory]
    [InlineData("/app.3f2a1b9c.js")]
    [InlineData("/assets/index-DiwrgT4a.css")]
    [InlineData("/assets/index-D1wr_T4a.css")]
    [InlineData("/chunk-OXFT4Y2R.js")]
    [InlineData("/main.8d2f1a9b0c3e4f5a6b7c8d9e0f1a2b3c.chunk.3f2a1b9c.js")]
    [InlineData("/app.3f2a1b9c.js.map")]
    [InlineData("/a/b/inter-latin-9f86d081884c7d65.woff2")]
    [InlineData("3f-3f2a1b9c.js")]
    [InlineData("/index-BaSdfgH1.js")]
    [InlineData("/index-Ab_Cdefg1.js")]
    [InlineData("/app.ab12cd34.js")]
    public void A_name_with_a_content_hash_is_known(string path) => Assert.True(CachePolicy.HasContentHash(Encoding.UTF8.GetBytes(path)));

    [Theory]
    [InlineData("")]
    [InlineData("/")]
    [InlineData("/index.html")]
    [InlineData("/app.js")]
    [InlineData("/app.3f2a1b9.js")]
    [InlineData("/3f2a1b9c.js")]
    [InlineData("/app_3f2a1b9c.js")]
    [InlineData("/app.3f2a1b9c")]
    [InlineData("/app.3f2a1b9c.")]
    [InlineData("/app.3f2a1b9c/index.html")]
    [InlineData("/report-20240131.pdf")]
    [InlineData("/my-deadbeef.js")]
    [InlineData("/my-JavaScript.js")]
    [InlineData("/jquery-3.7.1slim1.js")]
    [InlineData("/photo-holiday2024.jpg")]
    [InlineData("/data-VERSION18.csv")]
    [InlineData("/minutes-March2024.pdf")]
    [InlineData("/annual-Report2024.pdf")]
    [InlineData("/annual-FinalReport2024.pdf")]
    [InlineData("/annual-Final_Report7.pdf")]
    [InlineData("/app-Setup115.exe")]
    [InlineData("/guide-CHAPTER23.html")]
    [InlineData("/guide-PDFVersion2.pdf")]
    [InlineData("/menu-cafe2024.pdf")]
    [InlineData("/a-3f2a1b9ä.js")]
    [InlineData("/app.3f2a1b9c.js.gz")]
    [InlineData("/.map")]
    public void A_name_that_may_stay_when_its_content_changes_is_not(string path) =>
        Assert.False(CachePolicy.HasContentHash(Encoding.UTF8.GetBytes(path)));
}
