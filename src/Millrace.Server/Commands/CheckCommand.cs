using System.CommandLine;
using System.Net;
using Millrace.Interop.Zstd;
using Millrace.Server.Configuration;
using Millrace.Server.Doctor;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Terminal;

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

        bool isGood = true;
        using var check = new ConfigurationCheck(options, problem =>
        {
            ErrorLine.Print($"{(problem.Kind == ProblemKind.Warning ? "warning: " : "")}{problem.Text}");
            isGood &= problem.Kind == ProblemKind.Warning;
        });
        bool isHttpsGood = CheckHttps(options, check);
        CheckPlaces(options, check);
        CheckNames(options);
        CheckApplications(options);
        CheckDictionaries(options);
        check.Acme();
        bool isUserGood = CheckAsUser(options, configuration.Path, () => check.Sites(static (hosted, files) =>
        {
            string forHost = hosted.Name.Length == 0 ? "" : $" for {hosted.Name}";
            Console.WriteLine($"Would serve {Server.DisplayPath(hosted.Site.Root)} ({Counted.Of(files, "file")}){forHost}");
        }));
        return isGood && isHttpsGood && isUserGood ? ExitCode.Done : ExitCode.Usage;
    }

    private static void CheckPlaces(ServeOptions options, ConfigurationCheck check)
    {
        if (options.Admin.Address is { } admin)
        {
            Console.WriteLine($"Would serve admin pages on {ListenAddress.ToUrl(admin)}");
        }

        if (options.AccessLog.Destination is { } log)
        {
            Console.WriteLine($"Would write the access log to {log}");
        }

        check.Places();
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

    /// <summary>Reads the sites as the user who serves. Files that this user cannot read again do not prevent a start.</summary>
    private static bool CheckAsUser(ServeOptions options, string? configuration, Action check)
    {
        if (options.Service.User is not { } text)
        {
            check();
            return true;
        }

        try
        {
            ServiceUser user = ServiceUser.Find(text);
            if (!AccessProbe.MayCheckAs(user))
            {
                ErrorLine.Print($"warning: Only root or '{text}' can check what '{text}' may read: not checked.");
                check();
                return true;
            }

            return AccessProbe.Check(user, () =>
            {
                foreach (InaccessibleFile file in InaccessibleFile.Find(options, configuration))
                {
                    ErrorLine.Print($"warning: {file.Describe(text)}");
                }

                check();
                return true;
            });
        }
        catch (ServiceException refusal)
        {
            Fail(refusal.Message);
            check();
            return false;
        }
    }

    private static bool CheckHttps(ServeOptions options, ConfigurationCheck check)
    {
        if (check.Certificates() is not { } read)
        {
            return false;
        }

        string local = read.Count == 0 && !options.Acme.IsOn ? " with a local certificate" : "";
        foreach (EndPoint address in options.Https.Addresses)
        {
            string http3 = options.HasHttp3(address) ? " with HTTP/3" : "";
            Console.WriteLine($"Would listen on {ListenAddress.ToUrl(address, "https")}{http3}{local}");
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

    private static bool Fail(string message)
    {
        ErrorLine.Print(message);
        return false;
    }
}
