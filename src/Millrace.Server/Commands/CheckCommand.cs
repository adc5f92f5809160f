using System.CommandLine;
using Microsoft.Extensions.Logging;
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
