using System.Net;
using Millrace.Acme;
using Millrace.Server.Https;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options of certificates that the server obtains and renews itself.</summary>
internal static class AcmeRows
{
    private static readonly OptionGroup Group = new("acme", OptionChange.AtRestart);

    private static readonly OrderedDictionary<string, AcmeKeyKinds> Keys = new()
    {
        ["p256"] = AcmeKeyKinds.P256,
        ["rsa2048"] = AcmeKeyKinds.Rsa2048,
        ["both"] = AcmeKeyKinds.P256 | AcmeKeyKinds.Rsa2048,
    };

    public static IEnumerable<ServerOption> All =>
    [
        Group.Text("acme", OptionValueKind.Text, "EMAIL",
            "Obtain certificates from Let's Encrypt, or --acme-server, and renew them. Agrees to the authority's terms of service. "
            + "EMAIL: the contact of the account; write none for an account without one.",
            static (options, text) => options.WithAcme(acme => acme with { Email = ParseEmail(text) }),
            path: "email"),
        Group.Texts("domain", OptionValueKind.Text, "NAME[,NAME...]",
            "Host or IP address to obtain a certificate for; names joined by commas share one.",
            static (options, text) => options.WithAcme(acme => acme with { Domains = [.. acme.Domains, ParseNames(text)] }),
            path: "domains") with
        {
            Change = OptionChange.AtReload,
            Default = "the names of --host",
        },
        Group.Text("acme-dir", OptionValueKind.Folder, "DIR", "Folder for the account, keys, certificates and orders.",
            static (options, text) => options.WithAcme(acme => acme with { Directory = text }),
            path: "directory") with
        {
            Default = "acme in $STATE_DIRECTORY, or in the user's data folder",
        },
        Group.Text("acme-server", OptionValueKind.Text, "URL", "Directory of another certificate authority.",
            static (options, text) => options.WithAcme(acme => acme with { Server = ParseUrl(text) }),
            path: "server") with
        {
            Default = "Let's Encrypt",
        },
        Group.Switch("acme-staging", "Use Let's Encrypt's staging server, for trials: browsers do not trust its certificates.",
            static options => options.Acme.IsStaging,
            static (options, isOn) => options.WithAcme(acme => acme with { IsStaging = isOn }),
            path: "staging"),
        Group.Text("acme-ca-roots", OptionValueKind.File, "FILE",
            "PEM file with the root certificates for connections to --acme-server, instead of the system's.",
            static (options, text) => options.WithAcme(acme => acme with { RootsFile = text }),
            path: "ca-roots"),
        Group.Text("acme-eab", OptionValueKind.File, "FILE",
            "External account binding: a file with the key ID in its first line and the HMAC key (Base64URL) in its second.",
            static (options, text) => options.WithAcme(acme => acme with { ExternalAccountFile = text }),
            path: "external-account"),
        Group.Text("acme-profile", OptionValueKind.Text, "NAME", "Certificate profile of the authority, such as shortlived.",
            static (options, text) => options.WithAcme(acme => acme with { Profile = NotEmpty(text, "shortlived") }),
            path: "profile"),
        Group.Choice("acme-key", "a kind of key", "Key type of the certificates. both: two certificates, RSA for old clients.", Keys,
            static options => options.Acme.KeyKinds,
            static (options, kinds) => options.WithAcme(acme => acme with { KeyKinds = kinds }),
            path: "key"),
        Group.Text("acme-chain", OptionValueKind.Text, "NAME",
            "Common name of the root that the chain should lead to, if the authority offers several chains.",
            static (options, text) => options.WithAcme(acme => acme with { PreferredChain = NotEmpty(text, "'ISRG Root X1'") }),
            path: "chain"),
        Group.Text("acme-dns-hook", OptionValueKind.File, "FILE",
            "Program that sets TXT records, for wildcards: run as FILE present|cleanup DOMAIN RECORD VALUE.",
            static (options, text) => options.WithAcme(acme => acme with { DnsHook = text }),
            path: "dns-hook"),
    ];

    private static ServeOptions WithAcme(this ServeOptions options, Func<AcmeSettings, AcmeSettings> change) =>
        options with { Acme = change(options.Acme) };

    /// <summary>Empty for no contact.</summary>
    private static string ParseEmail(string text)
    {
        int at = text.IndexOf('@', StringComparison.Ordinal);
        return text == "none" ? ""
            : at > 0 && at == text.LastIndexOf('@') && at < text.Length - 1 && !text.AsSpan().ContainsAny(" ,<>?") ? text
            : throw OptionText.Refuse(text, "not an e-mail address", "Write you@example.org, or none.");
    }

    private static List<string> ParseNames(string text)
    {
        List<string> names = OptionText.List(text);
        return names.Count > 0 ? names.ConvertAll(ParseName) : throw OptionText.Refuse(text, "not a host", "Write example.org.");
    }

    private static string ParseName(string text)
    {
        if (ListenAddress.TryParseIp(text.Trim('[', ']'), out IPAddress? address))
        {
            return address.ToString();
        }

        if (!HostedSite.TryReadName(text, out string? name, out string? problem) || name.Contains(':', StringComparison.Ordinal))
        {
            string reason = problem is null ? "not a host name or an IP address" : $"not a host name: {problem}";
            throw OptionText.Refuse(text, reason, "Write example.org, *.example.org or an address, without a port.");
        }

        return name.ToLowerInvariant().TrimEnd('.');
    }

    private static Uri ParseUrl(string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out Uri? url)
            && (url.Scheme == Uri.UriSchemeHttps || (url.Scheme == Uri.UriSchemeHttp && url.IsLoopback))
            ? url
            : throw OptionText.Refuse(text, "not an https URL", "Write the URL of the authority's directory.");

    private static string NotEmpty(string text, string example) =>
        text.Length > 0 ? text : throw OptionText.Refuse(text, "empty", $"Write a name, such as {example}.");
}
