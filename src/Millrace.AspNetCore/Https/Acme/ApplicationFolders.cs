using Microsoft.Extensions.Hosting;
using Millrace.Acme;

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
        // systemd names several folders, separated by colons.
        string state = Environment.GetEnvironmentVariable("STATE_DIRECTORY")?.Split(':')[0] ?? "";
        string data = Environment.GetFolderPath(
            Environment.SpecialFolder.LocalApplicationData, Environment.SpecialFolderOption.DoNotVerify);
        string application = environment.ApplicationName is { Length: > 0 } name ? name.Replace('/', '_') : "application";
        return state.Length > 0 ? Path.Combine(state, "acme")
            : data.Length > 0 ? Path.Combine(data, "millrace", "aspnetcore", application)
            : throw new AcmeConfigurationException(
                $"There is no user data folder for certificates: set HOME, or {nameof(MillraceAcmeOptions)}."
                + $"{nameof(MillraceAcmeOptions.Directory)}.");
    }
}
