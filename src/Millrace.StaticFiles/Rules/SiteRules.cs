namespace Millrace.StaticFiles.Rules;

/// <summary>The rules of a site, compiled from its options and its own files.</summary>
internal sealed class SiteRules
{
    private SiteRules()
    {
    }

    public static SiteRules Compile(SiteOptions options, ReadOnlySpan<byte> headersFile, ReadOnlySpan<byte> redirectsFile) => new();
}
