using Microsoft.Extensions.Hosting;
using Millrace.Acme;
using Millrace.Acme.Storage;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>Where an application's files are. Any thread.</summary>
internal sealed class ApplicationFolders(IHostEnvironment environment)
{
    /// <summary>A path as configured, which is relative to the content root.</summary>
    public string Resolve(string path) => Path.Combine(environment.ContentRootPath, path);

    /// <summary>
    /// The folder for what is obtained: another one for each application of a user, as one of them would only read what the other obtains.
    /// </summary>
    /// <exception cref="AcmeConfigurationException">There is none.</exception>
    public string FindDataFolder()
    {
        string application = environment.ApplicationName is { Length: > 0 } name ? name.Replace('/', '_') : "application";
        return DefaultFolders.OfService is { } folder ? folder
            : DefaultFolders.OfUser is { } data ? Path.Combine(data, "aspnetcore", application)
            : throw new AcmeConfigurationException(
                $"There is no user data folder for certificates: set HOME, or {nameof(MillraceAcmeOptions)}."
                + $"{nameof(MillraceAcmeOptions.Directory)}.");
    }
}
