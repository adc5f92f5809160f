using System.CommandLine;
using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server.Commands;

/// <summary>
/// <c>millrace check [FILE] [flags]</c>: checks a configuration. Opens certificates, and roots as the user who would serve them, checks the
/// paths of logs and sockets, and prints what would be served. Changes nothing: binds no address, writes no file.
/// </summary>
internal static class CheckCommand
{
    public static Command Create()
    {
        var target = new Argument<string?>("FILE")
        {
            Description = "The configuration file, or the folder that would be served.",
            Arity = ArgumentArity.ZeroOrOne,
        };
        target.Validators.Add(ServeCommand.RefuseOption);
        const string Help = "Checks a configuration without serving: prints what would be served, or what is wrong (exit status 2). Takes "
            + "the same flags, environment variables and file as the server.";
        var command = new Command("check", Help) { target };
        var flags = new OptionFlags(command);
        command.SetAction(parsed =>
        {
            string? configured = parsed.GetValue(target);
            bool isFolder = configured is not null && Directory.Exists(configured);
            if (configured is not null && !isFolder && flags.HasFile(parsed))
            {
                return ErrorLine.Print("Two configuration files are given: name one, as FILE or with --config.", ExitCode.Usage);
            }

            return Check(flags.Read(parsed, isFolder ? null : configured, isFolder ? [configured!] : []));
        });
        return command;
    }

    private static int Check(ServerConfiguration configuration)
    {
        if (configuration.ReadOrPrintErrors() is not { } options)
        {
            return ExitCode.Usage;
        }

        // Lines of _headers and _redirects that cannot be used are logged.
        using ILoggerFactory logging = Server.CreateLogging(LogLevel.Warning);
        bool isGood = CheckHttps(options, logging);
        isGood &= CheckPlaces(options);
        isGood &= CheckAsUser(options, configuration.Path, () => CheckSites(options, logging));
        return isGood ? ExitCode.Done : ExitCode.Usage;
    }

    private static bool CheckPlaces(ServeOptions options)
    {
        if (options.Admin.Address is { } admin)
        {
            Console.WriteLine($"Would serve admin pages on {ListenAddress.ToUrl(admin)}");
        }

        if (options.AccessLog.Destination is { } log)
        {
            Console.WriteLine($"Would write the access log to {log}");
        }

        return OutputPathCheck.RefusalsOf(options).Aggregate(true, static (isGood, refusal) => Fail(refusal) && isGood);
    }

    /// <summary>Reads the sites as the user who serves. Files that this user cannot read again do not prevent a start.</summary>
    private static bool CheckAsUser(ServeOptions options, string? configuration, Func<bool> check)
    {
        if (options.Service.User is not { } text)
        {
            return check();
        }

        try
        {
            ServiceUser user = ServiceUser.Find(text);
            if (!AccessProbe.MayCheckAs(user))
            {
                Fail($"Only root or '{text}' can check what '{text}' may read: not checked.");
                return check();
            }

            return AccessProbe.Check(user, () =>
            {
                foreach (InaccessibleFile file in InaccessibleFile.Find(options, configuration))
                {
                    Fail(file.Describe(text));
                }

                return check();
            });
        }
        catch (ServiceException refusal)
        {
            Fail(refusal.Message);
            _ = check();
            return false;
        }
    }

    private static bool CheckSites(ServeOptions options, ILoggerFactory logging) =>
        options.Sites.Aggregate(true, (isGood, site) => CheckSite(site, logging) && isGood);

    private static bool CheckHttps(ServeOptions options, ILoggerFactory logging)
    {
        string certificates = "a local certificate";
        try
        {
            // Only a server creates the local certificate and the key log file.
            if (options.Https.Certificates.Count > 0)
            {
                using HttpsEndpoint? https = HttpsEndpoint.Open(options.Https with { KeyLog = null }, logging);
                certificates = $"certificates for {string.Join(", ", https?.Names ?? [])}";
            }
        }
        catch (TlsException refusal)
        {
            return Fail(refusal.Message);
        }

        foreach (string address in options.Https.Addresses.Select(static address => ListenAddress.ToUrl(address, "https")))
        {
            Console.WriteLine($"Would listen on {address} with {certificates}");
        }

        string redirects = options.Https.Redirects ? " (redirects to HTTPS)" : "";
        foreach (string address in options.Addresses.Select(static address => ListenAddress.ToUrl(address)))
        {
            Console.WriteLine($"Would listen on {address}{redirects}");
        }

        return true;
    }

    private static bool CheckSite(HostedSite configured, ILoggerFactory logging)
    {
        try
        {
            using Site site = Site.Open(configured.Site with { Watch = WatchMode.Off, Compression = false }, logging);
            string forHost = configured.Name.Length == 0 ? "" : $" for {configured.Name}";
            string root = Server.DisplayPath(configured.Site.Root);
            Console.WriteLine($"Would serve {root} ({site.Catalog.Current.AssetCount:N0} assets){forHost}");
            return true;
        }
        catch (SiteException refusal)
        {
            return Fail(refusal.Message);
        }
    }

    private static bool Fail(string message)
    {
        ErrorLine.Print(message);
        return false;
    }
}

/// <summary>
/// Checks the paths that a server would write or bind, without changing anything: log files, unix sockets and their modes.
/// </summary>
internal static class OutputPathCheck
{
    /// <summary>Errors that would prevent a server from starting.</summary>
    public static IEnumerable<string> RefusalsOf(ServeOptions options)
    {
        if (options.AccessLog.Destination is { } destination)
        {
            using ILogSink sink = LogDestination.Of(destination);
            if (sink.Try() is < 0 and int error)
            {
                yield return $"The access log cannot be opened at {sink.Name}: {Errno.Describe(error)}.";
            }
        }

        if (options.Https is { KeyLog: { } secrets, Addresses.Count: > 0 })
        {
            using var file = new FileSink(secrets);
            if (file.Try() is < 0 and int error)
            {
                yield return $"The file for TLS secrets '{secrets}' cannot be written: {Errno.Describe(error)}.";
            }
        }

        EndPoint[] addresses =
            [.. options.Https.Addresses, .. options.Addresses, .. options.Admin.Address is { } admin ? (EndPoint[])[admin] : []];
        foreach (EndPoint twice in addresses.Where(static address => address is not IPEndPoint { Port: 0 })
            .GroupBy(static address => address).Where(static same => same.Count() > 1).Select(static same => same.Key))
        {
            yield return $"{twice} is configured twice: use it once, for HTTP, HTTPS or the admin pages.";
        }

        if (options.ListensOnTcp && options.Engine.CongestionControl is { } control && CongestionControl.RefusalOf(control) is { } reason)
        {
            yield return reason;
        }

        foreach (string refusal in addresses.OfType<UnixDomainSocketEndPoint>().Select(RefusalOf).OfType<string>())
        {
            yield return refusal;
        }
    }

    private static string? RefusalOf(UnixDomainSocketEndPoint socket)
    {
        if (SocketEndPoint.FilePathOf(socket) is not { } path)
        {
            return null;
        }

        if (ParentDirectory.MayMake(path) is < 0 and int error)
        {
            return $"No socket can be created in '{ParentDirectory.Of(path)}': {Errno.Describe(error)}.";
        }

        // An existing socket may belong to a running server or be stale: the engine distinguishes them when it binds.
        return FileCalls.StatPath(FileCalls.WorkingDirectory, CString.Of(path), StatxMask.Type, out Statx there) >= 0
            && there.Type != FileType.Socket
                ? $"'{path}' exists and is not a socket: remove it, or choose another path."
                : null;
    }
}
