using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>Site rules as tests write and read them: in strings.</summary>
internal static class TestRules
{
    public static readonly SiteOptions Options = new() { Root = "/" };

    public static SiteRules Compile(string headers = "", string redirects = "", SiteOptions? options = null) =>
        SiteRules.Compile(options ?? Options, Encoding.UTF8.GetBytes(headers), Encoding.UTF8.GetBytes(redirects));

    public static string[] Fields(this SiteRules rules, string urlPath, string? filePath = null)
    {
        byte[] file = Encoding.UTF8.GetBytes(filePath ?? urlPath);
        bool isHashed = ContentHashName.Of(file).Evidence == HashEvidence.Certain;
        return Lines(rules.FieldsFor(Encoding.UTF8.GetBytes(urlPath), file, isHashed));
    }

    public static string[] ErrorFields(this SiteRules rules, string urlPath) => Lines(rules.FieldsForError(Encoding.UTF8.GetBytes(urlPath)));

    public static string[] RedirectFields(this SiteRules rules, string urlPath) =>
        Lines(rules.FieldsForRedirect(Encoding.UTF8.GetBytes(urlPath)));

    public static string[] Lines(FieldSet set) => [.. set.Fields.ToArray().Select(field => field.ToString())];

    /// <summary>"301 /new" for a redirect, "200 = /file" for a rewrite, "none", "too long". The target is "/path?query".</summary>
    public static string Ask(this SiteRules rules, string target, bool isForced = false, int scratchBytes = 4096)
    {
        int question = target.IndexOf('?', StringComparison.Ordinal);
        byte[] path = Encoding.UTF8.GetBytes(question < 0 ? target : target[..question]);
        byte[] query = Encoding.UTF8.GetBytes(question < 0 ? "" : target[(question + 1)..]);
        RouteTable routes = isForced ? rules.ForcedRoutes : rules.OtherRoutes;
        RuleMatch match = routes.Match(path, query, new byte[scratchBytes], out RuleTarget found);
        return match switch
        {
            RuleMatch.Redirect => $"{found.Status} {Encoding.Latin1.GetString(found.Location)}",
            RuleMatch.Rewrite => $"{found.Status} = {Encoding.UTF8.GetString(found.Path)}",
            RuleMatch.TooLong => "too long",
            _ => "none",
        };
    }
}
