using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Scanning;
using Millrace.Tls;

namespace Millrace.Server.Https;

/// <summary>Connects the manager of obtained certificates with the server: its folder, its challenges, and TLS. The main thread.</summary>
internal static class AcmeService
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    /// <summary>
    /// Creates the folder for the user who will serve, while the process may still give it away, and has the local certificate kept there.
    /// </summary>
    /// <exception cref="TlsException">The folder cannot be created.</exception>
    public static void Prepare(ServeOptions options, HttpsEndpoints https)
    {
        if (!options.Acme.IsOn)
        {
            return;
        }

        string folder = options.Acme.ResolveDirectory(options.Service.User);
        RequireUnserved(options, folder);
        try
        {
            bool isNew = !Directory.Exists(folder);
            if (isNew && Path.GetDirectoryName(Path.GetFullPath(folder)) is { } parent)
            {
                Directory.CreateDirectory(parent);
            }

#pragma warning disable CA1416 // The engine runs only on Linux.
            Directory.CreateDirectory(folder, OwnerOnly);
#pragma warning restore CA1416
            if (isNew)
            {
                GiveToServiceUser(options, folder);
            }
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            throw new TlsException(
                DescribeRefusal(folder, "created", FileProblem.Of(folder, refusal), FileProblem.ErrnoOf(refusal)), refusal)
            {
                IsMistake = FileProblem.IsMistake(folder, refusal),
            };
        }

        https.KeepLocalCertificateIn(folder);
    }

    /// <summary>The message on a folder that cannot be used.</summary>
    public static string DescribeRefusal(string folder, string use, string problem, int errno) => File.Exists(folder)
        ? $"The folder for certificates '{folder}' is a file: name a folder with --acme-dir."
        : $"The folder for certificates '{folder}' cannot be {use}: {problem}. "
            + FileProblem.RemedyOf(errno, "Name a folder that this user may write (--acme-dir).");

    /// <summary>Requires that no site serves the folder, whatever links lead there.</summary>
    /// <exception cref="TlsException">One does.</exception>
    public static void RequireUnserved(ServeOptions options, string folder)
    {
        folder = RealPath.Of(folder);
        if (options.Sites.FirstOrDefault(site => IsServed(site.Site, $"{folder}/")) is { } site)
        {
            throw new TlsException($"The folder for certificates '{folder}' is in the root '{site.Site.Root}', among what is served: "
                + "use --acme-dir with a folder outside of it.");
        }
    }

    /// <summary>Gives the local certificate, which was written before the change of user, to the user who serves.</summary>
    public static void GiveToServiceUser(ServeOptions options, string? path)
    {
        if (path is null || !options.Acme.IsOn || options.Service.User is not { } text
            || ServiceUser.Find(text) is not { IsOwn: false } user)
        {
            return;
        }

        int descriptor = FileCalls.OpenAt2(FileCalls.WorkingDirectory, CString.Of(path), new OpenHow
        {
            Flags = OpenFlags.ReadOnly | OpenFlags.CloseOnExec | OpenFlags.NoFollow,
        });
        if (descriptor >= 0)
        {
            // Whether the user may write is checked after the change of user.
            _ = FileCalls.SetOwner(descriptor, user.Id, user.Group);
            _ = FileCalls.Close(descriptor);
        }
    }

    /// <summary>Reads what was obtained before. As the user who serves. Null if certificates are not obtained.</summary>
    /// <exception cref="TlsException">The folder or the options cannot be used; the message says why.</exception>
    public static AcmeManager? Open(ServeOptions options, HttpsEndpoints https, ILoggerFactory logging)
    {
        if (!options.Acme.IsOn)
        {
            return null;
        }

        try
        {
            var manager = new AcmeManager(options.Acme.ToOptions(options), AnsweredBy(options), https.UseObtained, logging);
            https.Attach(manager);
            return manager;
        }
        catch (AcmeConfigurationException refusal)
        {
            throw new TlsException(refusal.Message, refusal);
        }
    }

    /// <summary>Ends before listeners close: an authority that validates meanwhile would find nobody. The next start goes on.</summary>
    public static ValueTask StopAsync(AcmeManager? acme) => acme?.DisposeAsync() ?? ValueTask.CompletedTask;

    /// <summary>Checks the names of a configuration that is to be applied, if certificates are obtained now.</summary>
    /// <exception cref="TlsException">They cannot be used; the message says why.</exception>
    public static void Check(ServeOptions next, AcmeManager? acme)
    {
        if (acme is null)
        {
            return;
        }

        try
        {
            RequireUnserved(next, acme.Directory);
            acme.CheckNames(NamesOf(next));
        }
        catch (AcmeConfigurationException refusal)
        {
            throw new TlsException(refusal.Message, refusal);
        }
    }

    /// <summary>Obtains the certificates for the names of a configuration that was checked. All else is of the start.</summary>
    public static void Replace(ServeOptions next, AcmeManager? acme)
    {
        acme?.Replace(NamesOf(next));
    }

    private static IReadOnlyList<IReadOnlyList<string>> NamesOf(ServeOptions options) =>
        options.Acme.IsOn && options.Https.Addresses.Count > 0 ? options.Acme.NamesFor(options.Hosts) : [];

    /// <summary>An authority validates on ports 80 and 443, from which other ports may be forwarded.</summary>
    public static AcmeChallengeTypes AnsweredBy(ServeOptions options) =>
        (options.Addresses.Any(static address => address is IPEndPoint) ? AcmeChallengeTypes.Http01 : AcmeChallengeTypes.None)
        | (options.Https.Addresses.Any(static address => address is IPEndPoint)
            ? AcmeChallengeTypes.TlsAlpn01
            : AcmeChallengeTypes.None);

    private static bool IsServed(SiteOptions site, string folder) =>
        SiteOptionChecks.IsServed(new ComparedPath(site.Root).Real, folder, site.Dotfiles);
}
