using System.Net;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>What is served, for whom, and where.</summary>
internal static class ListenRows
{
    public const string Host = "host";

    /// <summary>Only this machine, until told otherwise: nobody should publish a folder by accident.</summary>
    private const string DefaultAddress = "127.0.0.1:8080";

    public static EndPoint DefaultEndPoint => ListenAddress.Parse(DefaultAddress);

    public static IEnumerable<ServerOption> All =>
    [
        new()
        {
            Key = "root",
            Argument = "ROOT",
            Kind = OptionValueKind.Folder,
            ValueForm = "DIR",
            Help = "The folder to serve.",
            Default = ".",
            Apply = static (options, text) => options with { Site = options.Site with { Root = text } },
        },
        new()
        {
            Key = "listen",
            ShortFlag = "-l",
            Kind = OptionValueKind.Address,
            ValueForm = "ADDR",
            Occurrence = OptionOccurrence.Repeatable,
            Help = $"Where to listen: {ListenAddress.Forms}.",
            Default = $"{DefaultAddress}, unless --https is given",
            Apply = static (options, text) => options with { Addresses = [.. options.Addresses, ListenAddress.Parse(text)] },
        },
        new()
        {
            Key = Host,
            Path = "hosts",
            Kind = OptionValueKind.Rule,
            ValueForm = "NAME=ROOT",
            Occurrence = OptionOccurrence.Repeatable,
            Help = "Serve another folder for a host, with the same options; ROOT answers for all others.",
            Apply = AddHost,
        },
    ];

    private static ServeOptions AddHost(ServeOptions options, string text)
    {
        if (!HostedSite.TryParse(text, out HostedSite? host))
        {
            throw new SiteException($"'{text}' is not a host with its folder: write {HostedSite.Form}.");
        }

        return options.Hosts.Any(other => other.IsFor(host.Name))
            ? throw new SiteException($"The host '{host.Name}' has two folders: write one.")
            : options with { Hosts = [.. options.Hosts, host] };
    }
}
