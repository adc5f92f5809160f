using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Tests.Options;

public class SiteOptionsTests
{
    private static readonly SiteOptions Valid = new() { Root = "/" };

    [Fact]
    public void Values_that_make_no_sense_are_refused_with_their_name()
    {
        Refused(Valid with { Root = "" }, "root");
        Refused(Valid with { Root = "a\0b" }, "root");
        Refused(Valid with { BakedBytesMax = -1 }, nameof(SiteOptions.BakedBytesMax));
        Refused(Valid with { BakedBytesTotalMax = -1 }, nameof(SiteOptions.BakedBytesTotalMax));
        Refused(Valid with { RingBytesMax = -1 }, nameof(SiteOptions.RingBytesMax));
        Refused(Valid with { DescriptorsMax = -1 }, nameof(SiteOptions.DescriptorsMax));
        Refused(Valid with { EntriesMax = -1 }, nameof(SiteOptions.EntriesMax));
        Refused(Valid with { IndexNames = [""] }, "index name");
        Refused(Valid with { IndexNames = ["index.html", "../secret"] }, "../secret");
        Refused(Valid with { IndexNames = ["a\0"] }, "index name");
    }

    [Fact]
    public void Defaults_are_valid() => Valid.Validate();

    private static void Refused(SiteOptions options, string named)
    {
        var thrown = Assert.Throws<SiteException>(() => AssetCatalog.Open(options));
        Assert.Contains(named, thrown.Cause, StringComparison.Ordinal);
        Assert.NotEmpty(thrown.Remedy);
    }
}
