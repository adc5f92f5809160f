using System.Net;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration.Rows;

/// <summary>What is served, on which addresses and for which hosts.</summary>
internal static class ListenRows
{
    public const string Host = "host";
    public const string Listen = "listen";

    /// <summary>Only this machine by default, so that no folder is published by accident.</summary>
    private const string DefaultAddress = "127.0.0.1:8080";

    private static readonly OptionGroup General = new("", OptionChange.AtReload);

    public static EndPoint DefaultEndPoint => ListenAddress.Parse(DefaultAddress);

    public static IEnumerable<ServerOption> All =>
    [
        General.Text("root", OptionValueKind.Folder, "DIR", "Folder to serve.",
            static (options, text) => options with { Site = options.Site with { Root = text } }) with
        {
            Argument = "ROOT",
            Default = ".",
        },
        General.Texts(Listen, OptionValueKind.Address, "ADDR", $"Address to serve HTTP on: {ListenAddress.Forms}.",
            static (options, text) => options with { Addresses = [.. options.Addresses, ListenAddress.Parse(text)] }) with
        {
            ShortFlag = "-l",
            Default = $"{DefaultAddress}, unless --https is given",
        },
        General.Texts(Host, OptionValueKind.Rule, "NAME=FOLDER",
            "Serve FOLDER for this host name, with the same options; ROOT serves all other hosts.",
            AddHost,
            path: "hosts") with
        {
            PathAt = static text => text.IndexOf('=', StringComparison.Ordinal) is >= 0 and int equals ? equals + 1 : -1,
        },
    ];

    private static ServeOptions AddHost(ServeOptions options, string text)
    {
        if (!HostedSite.TryParse(text, out HostedSite? host, out string? problem))
        {
            int equals = text.IndexOf('=', StringComparison.Ordinal);
            string name = equals < 0 ? text : text[..equals];
            throw new SiteException(
                problem is not null
                    ? $"'{name}' is not a host name: {problem}. Use the A-label (xn--...), as browsers show and send it."
                : name.LastIndexOf('*') > 0 ? $"'{name}' is not a host name: a '*' may stand at the start only, as in *.example.org."
                : name.Any(char.IsWhiteSpace) ? $"'{name}' is not a host name: it contains a space."
                : equals > 0 && !HostedSite.TryReadName(name, out _, out _) ? $"'{name}' is not a host name: use {HostedSite.Form}."
                : $"'{text}' is not a host with a folder: use {HostedSite.Form}.");
        }

        return options.Hosts.Any(other => other.IsFor(host.Name))
            ? throw new SiteException($"The host '{host.Name}' has two folders: use one.")
            : options with { Hosts = [.. options.Hosts, host] };
    }
}
