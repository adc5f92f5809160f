using Millrace.Interop.Crypt;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration;

/// <summary>
/// The options that need OpenSSL: without it they are errors, at a start, at a reload and for <c>check</c> and <c>doctor</c>, because
/// .NET's cryptography would end the process.
/// </summary>
internal static class OpenSslNeeds
{
    /// <summary>The option that the error belongs to, when it needs OpenSSL, and the subject of the error.</summary>
    private static readonly (string Option, Func<ServeOptions, bool> Applies, Func<string, string> Subject)[] All =
    [
        ("https", static options => options.Https.Addresses.Count > 0, static name => name),
        ("auth", static options => options.Sites.Any(static hosted => hosted.Site.PasswordFiles.Any()), static name => name),
        ("proxy",
            static options => options.Sites.SelectMany(static hosted => hosted.Site.UpstreamRules)
                .Any(static rule => rule.Targets.Any(static target => ProxyTarget.Parse(target).IsTls)),
            static name => $"{name} (or a service that is asked) with https"),
        ("otlp", static options => options.Admin.Collector?.Scheme == Uri.UriSchemeHttps, static name => $"{name} with https"),
    ];

    /// <param name="options">The options, valid in all other respects.</param>
    /// <param name="settings">What they were made from.</param>
    /// <param name="missing">The library that cannot be loaded; null if all can.</param>
    /// <param name="errors">Errors are added to it.</param>
    public static void Check(ServeOptions options, SettingSet settings, string? missing, ICollection<OptionError> errors)
    {
        foreach ((string option, Func<ServeOptions, bool> applies, Func<string, string> subject) in missing is null ? [] : All)
        {
            if (applies(options))
            {
                SettingOrigin origin = settings.Find(option)?.Origin ?? SettingOrigin.Flag;
                string text = $"{subject(origin.NameOf(OptionTable.Get(option)))} needs OpenSSL 3, and {missing} cannot be loaded. ";
                errors.Add(new OptionError(origin, text + OpenSslPresence.Remedy));
            }
        }
    }
}
