namespace Millrace.StaticFiles.Rules;

/// <summary>
/// What the operator allows the site's own <c>_redirects</c> to do with applications: a deployed file alone never makes the server ask
/// elsewhere. Immutable.
/// </summary>
internal sealed class AllowedUpstreams(SiteOptions options)
{
    private readonly HashSet<string> _allowed = [.. options.ProxyAllow.Select(static text => ProxyTarget.Parse(text).ToString())];

    /// <summary>The rule with the fields that the options choose.</summary>
    public ProxyRule Apply(ProxyRule rule) => rule with { Forwarded = options.ProxyForwarded, SendsVia = options.ProxyVia };

    /// <summary>The proxy rule of a line. Throws <see cref="SiteException"/> if its target is not allowed, or not valid.</summary>
    public static ProxyRule Require(AllowedUpstreams? policy, RedirectRule rule)
    {
        // Hosted sites are reached by their own names: the client's host means nothing to them.
        ProxyRule proxy = ProxyRuleText.Of(rule.From, [rule.To]) with { ReplacesHost = true };
        string target = proxy.Targets[0];
        return policy is null
            ? throw new SiteException(
                $"The target '{FieldValidation.Shown(rule.To)}' is not a path of this site.",
                "Write /path, redirect with status 301, 302, 303, 307 or 308, or send requests to an application with --proxy.")
            : policy._allowed.Contains(target)
                ? policy.Apply(proxy)
                : throw new SiteException(
                    $"Requests are not sent to '{FieldValidation.Shown(target)}': the server's operator has not allowed it.",
                    $"Start the server with --proxy-allow {FieldValidation.Shown(target)}, or redirect with status 302.");
    }
}
