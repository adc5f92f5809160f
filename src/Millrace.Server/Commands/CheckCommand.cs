using System.CommandLine;
using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Zstd;
using Millrace.Server.AccessLog;
using Millrace.Server.Configuration;
using Millrace.Server.Doctor;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Scanning;
using Millrace.Tls;

namespace Millrace.Server.Commands;

/// <summary>
/// <c>millrace check [FILE] [flags]</c>: checks a configuration. Opens certificates, and roots as the user who would serve them, checks the
/// paths of logs and sockets, and prints what would be served. Changes nothing: binds no address, writes no file.
/// </summary>
internal static class CheckCommand
{
    public static Command Create(OptionFlags flags)
    {
        var target = new Argument<string?>("FILE")
        {
            Description = "The configuration file, or the folder that would be served.",
            Arity = ArgumentArity.ZeroOrOne,
        };
        const string Help = "Checks a configuration: prints what would be served, or what is wrong. Takes the same flags, environment "
            + "variables and file as the server. Exit status: 0, or 2 if something is wrong; lines with 'warning:' do not count.";
        var command = new Command("check", Help) { target };
        flags.AddTo(command);
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
        using var lines = new ErrorLineLogger();
        using ILoggerFactory logging =
            LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Warning).AddProvider(lines));
        bool isGood = CheckHttps(options, logging);
        isGood &= CheckPlaces(options);
        CheckNames(options);
        CheckApplications(options);
        CheckDictionaries(options);
        isGood &= CheckAcme(options);
        isGood &= CheckAsUser(options, configuration.Path, () => CheckSites(options, logging));
        return isGood && lines.IsGood ? ExitCode.Done : ExitCode.Usage;
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

    /// <summary>Names that do not resolve here are no error: an authority's resolver decides.</summary>
    private static void CheckNames(ServeOptions options)
    {
        if (!options.Acme.IsOn)
        {
            return;
        }

        foreach (IReadOnlyList<string> names in options.Acme.NamesFor(options.Hosts))
        {
            Console.WriteLine($"Would obtain a certificate for {string.Join(", ", names)} from {options.Acme.DirectoryUrl.Host}");
            foreach (string name in names.Where(static name => !name.StartsWith("*.", StringComparison.Ordinal)))
            {
                if (AcmeProbe.ResolveAsync(name).GetAwaiter().GetResult().Count == 0)
                {
                    ErrorLine.Print($"warning: {name} does not resolve here: add an A or AAAA record that names this machine.");
                }
            }
        }
    }

    /// <summary>An application that cannot be connected to is no error: it may start later.</summary>
    private static void CheckApplications(ServeOptions options)
    {
        foreach (UpstreamFacts upstream in UpstreamProbe.ReadAsync(options).GetAwaiter().GetResult())
        {
            Console.WriteLine($"Would send requests to {upstream.Target}");
            if (upstream.Problem is { } problem)
            {
                ErrorLine.Print($"warning: {upstream.Target} cannot be connected to: {problem}. Requests to it are 502 until it can.");
            }
        }
    }

    /// <summary>Without the library, files are sent without dictionaries.</summary>
    private static void CheckDictionaries(ServeOptions options)
    {
        if (ZstdLibrary.Problem is { } problem
            && options.Sites.Any(static hosted => hosted.Site.Dictionaries || hosted.Site.PageDictionary))
        {
            ErrorLine.Print($"warning: dictionaries have no effect: {problem}. Install libzstd 1.4.0 or newer (Debian: libzstd1).");
        }
    }

    private static bool CheckAcme(ServeOptions options)
    {
        if (!options.Acme.IsOn)
        {
            return true;
        }

        try
        {
            AcmeManager.Check(options.Acme.ToOptions(options), AcmeService.AnsweredBy(options));
        }
        catch (Exception refusal) when (refusal is TlsException or AcmeConfigurationException)
        {
            return Fail(refusal.Message);
        }

        return AcmeProbe.FolderProblem(options) is not { } problem || Fail(problem);
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
                ErrorLine.Print($"warning: Only root or '{text}' can check what '{text}' may read: not checked.");
                return check();
            }

            return AccessProbe.Check(user, () =>
            {
                foreach (InaccessibleFile file in InaccessibleFile.Find(options, configuration))
                {
                    ErrorLine.Print($"warning: {file.Describe(text)}");
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

    private static bool CheckSites(ServeOptions options, ILoggerFactory logging)
    {
        var folders = DictionaryFolders.Of(options);
        if (RefusalOf(() => folders.RequireUnserved(options.Sites)) is { } served)
        {
            return Fail(served);
        }

        foreach ((string cause, string remedy) in folders.ProblemsOf(options.Sites))
        {
            ErrorLine.Print($"warning: {cause}. {remedy}");
        }

        // Sites may share a file that cannot be used: it is reported once.
        var reported = new HashSet<string>(StringComparer.Ordinal);
        foreach (HostedSite site in options.Sites)
        {
            foreach (string refusal in CheckSite(site, logging).Where(reported.Add))
            {
                ErrorLine.Print(refusal);
            }
        }

        return reported.Count == 0;
    }

    private static bool CheckHttps(ServeOptions options, ILoggerFactory logging)
    {
        IReadOnlyList<ServedCertificate> read;
        try
        {
            read = HttpsEndpoint.Check(options.Https, logging);
        }
        catch (TlsException refusal)
        {
            return Fail(refusal.Message);
        }

        string local = read.Count == 0 && !options.Acme.IsOn ? " with a local certificate" : "";
        foreach (string address in options.Https.Addresses.Select(static address => ListenAddress.ToUrl(address, "https")))
        {
            Console.WriteLine($"Would listen on {address}{local}");
        }

        string redirects = options.Https.Redirects ? " (redirects to HTTPS)" : "";
        foreach (string address in options.Addresses.Select(static address => ListenAddress.ToUrl(address)))
        {
            Console.WriteLine($"Would listen on {address}{redirects}");
        }

        return read.Aggregate(true, static (isGood, one) => CheckExpiry(one, DateTimeOffset.UtcNow) && isGood);
    }

    private static bool CheckExpiry(ServedCertificate certificate, DateTimeOffset now)
    {
        CertificateState state = certificate.StateAt(now);
        Console.WriteLine($"Certificate for {certificate.Hosts} {certificate.Validity(now)}");
        if (state is CertificateState.Expired or CertificateState.Early)
        {
            // Its loading has logged that.
            return false;
        }

        if (state == CertificateState.Due)
        {
            ErrorLine.Print($"warning: the certificate {certificate.File} ({certificate.Hosts}) {certificate.Validity(now)}: renew it.");
        }

        return true;
    }

    /// <summary>Prints what would be served, or returns what is wrong.</summary>
    private static IEnumerable<string> CheckSite(HostedSite configured, ILoggerFactory logging)
    {
        try
        {
            if (SiteAccessProblem(configured.Site) is { } problem)
            {
                return RootProblem(configured.Site) is { } other ? [problem, other] : [problem];
            }

            SiteOptions options = configured.Site with { Watch = WatchMode.Off, Compression = false, WorksInBackground = false };
            using Site site = Site.Open(options, logging);
            site.CheckSiblings();
            string forHost = configured.Name.Length == 0 ? "" : $" for {configured.Name}";
            string root = Server.DisplayPath(configured.Site.Root);
            Console.WriteLine($"Would serve {root} ({Counted.Of(site.Catalog.Current.AssetCount, "file")}){forHost}");
            return [];
        }
        catch (SiteException refusal)
        {
            return [refusal.Message];
        }
    }

    private static string? SiteAccessProblem(SiteOptions site) => RefusalOf(() => SiteAccess.Open(site).Dispose());

    private static string? RootProblem(SiteOptions site) => RefusalOf(() => RootDirectory.Open(site.Root).Dispose());

    private static string? RefusalOf(Action action)
    {
        try
        {
            action();
            return null;
        }
        catch (SiteException refusal)
        {
            return refusal.Message;
        }
    }

    private static bool Fail(string message)
    {
        ErrorLine.Print(message);
        return false;
    }
}

/// <summary>
/// Prints log messages as lines of errors: those that make a check fail as they are, others with "warning:" before them. Any thread.
/// </summary>
internal sealed class ErrorLineLogger : ILoggerProvider, ILogger
{
    /// <summary>Whether nothing that makes a check fail was logged.</summary>
    public bool IsGood { get; private set; } = true;

    public ILogger CreateLogger(string categoryName) => this;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        bool isFailure = logLevel >= LogLevel.Error || SiteLog.MakesCheckFail(eventId) || TlsLog.MakesCheckFail(eventId);
        IsGood &= !isFailure;
        ErrorLine.Print($"{(isFailure ? "" : "warning: ")}{formatter(state, exception)}");
    }

    public void Dispose()
    {
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
                yield return LogDestination.Describe(sink.Name, destination, error);
            }
        }

        if (options.Https is { KeyLog: { } secrets, Addresses.Count: > 0 })
        {
            using var file = new FileSink(secrets);
            if (file.Try() is < 0 and int error)
            {
                yield return KeyLog.DescribeRefusal(secrets, FileProblem.Of(secrets, error), error);
            }
        }

        if (options.ListensOnTcp && options.Engine.CongestionControl is { } control && CongestionControl.RefusalOf(control) is { } reason)
        {
            yield return reason;
        }

        IEnumerable<EndPoint?> addresses = [.. options.Https.Addresses, .. options.Addresses, options.Admin.Address];
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
            return SocketEndPoint.DescribeRefusal(path, error);
        }

        // An existing socket may belong to a running server or be stale: the engine distinguishes them when it binds.
        return SocketEndPoint.IsOtherFile(socket) ? SocketEndPoint.Refusal(socket, Errno.EADDRINUSE).Message : null;
    }
}
