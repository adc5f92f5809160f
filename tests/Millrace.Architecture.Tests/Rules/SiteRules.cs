using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>A sample site is whole: what its pages ask for is there, and nothing is fetched from elsewhere.</summary>
internal static partial class SiteRules
{
    /// <summary>References of a page or a stylesheet; <paramref name="exists"/> answers for paths from the site's root.</summary>
    public static IEnumerable<Finding> References(SourceFile file, string siteRoot, Func<string, bool> exists)
    {
        Uri page = new(new Uri("http://site/"), file.Path[siteRoot.Length..]);
        foreach (Match match in Reference().Matches(file.Text))
        {
            string target = match.Groups["target"].Value;
            Uri address = new(page, target);
            if (address.Host != page.Host)
            {
                yield return file.At(match.Index, $"{target} is outside the site");
            }
            else if (!exists(address.AbsolutePath.EndsWith('/') ? address.AbsolutePath[1..] + "index.html" : address.AbsolutePath[1..]))
            {
                yield return file.At(match.Index, $"{target} does not exist");
            }
        }
    }

    [GeneratedRegex("""(?:\b(?:href|src|srcset)=|url\()"(?<target>[^"\s]+)|(?<=fetch\(")(?<target>[^"]+)|"src":\s*"(?<target>[^"]+)""")]
    private static partial Regex Reference();
}
