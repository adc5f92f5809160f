using System.CommandLine;
using Microsoft.Extensions.Logging;
using Millrace.Server.Https;
using Millrace.Server.Options;
using Millrace.Server.Service;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server.Commands;

/// <summary>
/// <c>millrace check [FILE] [flags]</c>: whether a server could be told so. Opens certificates, and roots as the user who would serve them,
/// looks where logs and sockets would be, says what would be served, and leaves everything as it is: no address is taken, no file written.
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
        const string Help = "Says what would be served, or what is wrong (exit status 2): the same flags, environment and file, "
            + "without a server.";
        var flags = new ConfigurationFlags();
        var command = new Command("check", Help) { target };
        flags.AddTo(command);
        command.SetAction(parsed =>
        {
            string? told = parsed.GetValue(target);
            bool isFolder = told is not null && Directory.Exists(told);
            if (told is not null && !isFolder && flags.FileOf(parsed) is not null)
            {
                return ErrorLine.Print("There are two configurations: name one, as FILE or by --config.", ExitCode.Usage);
            }

            return Check(new Configuration(
                flags.Read(parsed, isFolder ? [told!] : []),
                isFolder ? flags.FileOf(parsed) : told ?? flags.FileOf(parsed)));
        });
        return command;
    }

    private static int Check(Configuration configuration)
    {
        if (configuration.ReadOrComplain() is not { } options)
        {
            return ExitCode.Usage;
        }

        // What _headers and _redirects have that cannot be used is logged.
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
            Console.WriteLine($"Would show admin pages on {ListenAddress.ToUrl(admin)}");
        }

        if (options.AccessLog.Destination is { } log)
        {
            Console.WriteLine($"Would write a line for each request to {log}");
        }

        return PlaceCheck.RefusalsOf(options).Aggregate(true, static (isGood, refusal) => Complain(refusal) && isGood);
    }

    /// <summary>What is read for clients is read as the user who serves; what he cannot read again is no reason not to start.</summary>
    private static bool CheckAsUser(ServeOptions options, string? configuration, Func<bool> check)
    {
        if (options.Service.User is not { } text)
        {
            return check();
        }

        try
        {
            ServiceUser user = ServiceUser.Find(text);
            if (!UserEyes.MayLookAs(user))
            {
                Complain($"What '{text}' may read can only be told by root, or by that user: it was not looked at.");
                return check();
            }

            return UserEyes.Look(user, () =>
            {
                foreach (Withheld file in Withheld.Find(options, configuration))
                {
                    Complain(file.Describe(text));
                }

                return check();
            });
        }
        catch (ServiceException refusal)
        {
            Complain(refusal.Message);
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
            // A local one is made, and the secrets' file begun, by a server only.
            if (options.Https.Certificates.Count > 0)
            {
                using HttpsFront? https = HttpsFront.Open(options.Https with { KeyLog = null }, logging);
                certificates = $"certificates for {string.Join(", ", https?.Names ?? [])}";
            }
        }
        catch (TlsException refusal)
        {
            return Complain(refusal.Message);
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

    private static bool CheckSite(HostedSite told, ILoggerFactory logging)
    {
        try
        {
            using Site site = Site.Open(told.Site with { Watch = WatchMode.Off, Compression = false }, logging);
            string forHost = told.Name.Length == 0 ? "" : $" for {told.Name}";
            Console.WriteLine($"Would serve {Server.Shown(told.Site.Root)} ({site.Catalog.Current.AssetCount:N0} assets){forHost}");
            return true;
        }
        catch (SiteException refusal)
        {
            return Complain(refusal.Message);
        }
    }

    private static bool Complain(string message)
    {
        ErrorLine.Print(message);
        return false;
    }
}
