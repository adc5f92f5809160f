using System.CommandLine;
using System.CommandLine.Parsing;
using System.Net;
using Millrace.Engine;
using Millrace.Server.Doctor;

namespace Millrace.Server;

/// <summary>The command line: <c>millrace [ROOT] [--listen ADDR]... [--host NAME=ROOT]...</c> and the flags of the site.</summary>
internal static class ServeCommand
{
    private const int ReactorsMax = 1024;

    /// <summary>Only this machine, until told otherwise: nobody should publish a folder by accident.</summary>
    private const string DefaultAddress = "127.0.0.1:8080";

    private static readonly OrderedDictionary<string, BackendKind> Backends = new()
    {
        ["auto"] = BackendKind.Auto,
        ["io_uring"] = BackendKind.IoUring,
        ["epoll"] = BackendKind.Epoll,
    };

    public static RootCommand Create()
    {
        var root = new Argument<string>("ROOT")
        {
            Description = "The folder to serve.",
            DefaultValueFactory = static _ => ".",
        };
        root.Validators.Add(RefuseOption);
        var listen = new Option<EndPoint[]>("--listen", "-l")
        {
            Description = $"Where to listen: {ListenAddress.Forms}. May be repeated. [default: {DefaultAddress}]",
            HelpName = "ADDR",
            CustomParser = ParseAddresses,
        };
        var reactors = new Option<int>("--reactors")
        {
            Description = "Reactor threads; 0 is one for each core this process may use.",
            HelpName = "N",
            CustomParser = ParseReactors,
            DefaultValueFactory = static _ => 0,
        };
        var backend = new Option<BackendKind>("--backend")
        {
            Description = "How the kernel is asked; auto is io_uring where a trial of it succeeds, else epoll. [default: auto]",
            HelpName = string.Join('|', Backends.Keys),
            CustomParser = ParseBackend,
        };

        var hosts = new Option<HostedRoot[]>("--host")
        {
            Description = "Serve another folder for a host, with the same options. May be repeated; ROOT answers for all others.",
            HelpName = "NAME=ROOT",
            CustomParser = ParseHosts,
            AllowMultipleArgumentsPerToken = false,
        };
        var site = new SiteFlags();
        var limits = new LimitFlags();

        var command = new RootCommand("Serves a folder over HTTP, fast and by the RFCs.") { root, listen, hosts, reactors, backend };
        foreach (Option flag in site.Options.Concat(limits.Options))
        {
            command.Options.Add(flag);
        }

        command.Subcommands.Add(DoctorCommand.Create());

        command.SetAction((parsed, _) => Server.RunAsync(new ServeOptions(
            site.Read(parsed, parsed.GetValue(root)!),
            parsed.GetValue(hosts) ?? [],
            parsed.GetValue(listen) is { Length: > 0 } addresses ? addresses : [DefaultEndPoint()],
            parsed.GetValue(reactors),
            parsed.GetValue(backend),
            limits.Read(parsed))));
        return command;
    }

    /// <summary>The parser takes a mistyped option for the folder.</summary>
    public static void RefuseOption(ArgumentResult result)
    {
        if (result.Tokens is [{ Value: ['-', ..] text }])
        {
            result.AddError($"'{text}' is not an option (a folder called so is written './{text}').");
        }
    }

    private static EndPoint[] ParseAddresses(ArgumentResult result)
    {
        var endPoints = new List<EndPoint>();
        foreach (Token token in result.Tokens)
        {
            if (ListenAddress.TryParse(token.Value, out EndPoint? endPoint))
            {
                endPoints.Add(endPoint);
            }
            else
            {
                result.AddError($"'{token.Value}' is not an address: write {ListenAddress.Forms}.");
            }
        }

        return [.. endPoints];
    }

    private static HostedRoot[] ParseHosts(ArgumentResult result)
    {
        var hosts = new List<HostedRoot>();
        foreach (Token token in result.Tokens)
        {
            if (!HostedRoot.TryParse(token.Value, out HostedRoot? host))
            {
                result.AddError($"'{token.Value}' is not a host with its folder: write {HostedRoot.Form}.");
            }
            else if (hosts.Exists(other => string.Equals(other.Name, host.Name, StringComparison.OrdinalIgnoreCase)))
            {
                result.AddError($"The host '{host.Name}' has two folders: write one.");
            }
            else
            {
                hosts.Add(host);
            }
        }

        return [.. hosts];
    }

    private static int ParseReactors(ArgumentResult result)
    {
        string text = result.Tokens is [{ } token] ? token.Value : "";
        if (int.TryParse(text, out int reactors) && reactors is >= 0 and <= ReactorsMax)
        {
            return reactors;
        }

        result.AddError($"'{text}' is not a number of reactors: write 0 (one for each core) to {ReactorsMax}.");
        return 0;
    }

    private static BackendKind ParseBackend(ArgumentResult result)
    {
        string text = result.Tokens is [{ } token] ? token.Value : "";
        if (Backends.TryGetValue(text, out BackendKind backend))
        {
            return backend;
        }

        result.AddError($"'{text}' is not a backend: write {string.Join(", ", Backends.Keys)}.");
        return BackendKind.Auto;
    }

    private static EndPoint DefaultEndPoint() => ListenAddress.TryParse(DefaultAddress, out EndPoint? endPoint)
        ? endPoint
        : throw new InvalidOperationException("The default address does not parse.");
}
