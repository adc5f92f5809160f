using Millrace.Acme.Storage;

namespace Millrace.Acme.Renewal;

/// <summary>A certificate that is wanted: its names, the kind of its key, and the folder that it is stored in. Immutable.</summary>
internal sealed record CertificateRequest(IReadOnlyList<string> Names, AcmeKeyKinds Kind, string Folder)
{
    /// <summary>All that the options want, in their order.</summary>
    /// <exception cref="AcmeConfigurationException">The message names the option and the remedy.</exception>
    public static IReadOnlyList<CertificateRequest> All(AcmeOptions options, AcmeChallengeTypes answered)
    {
        CertificateRequest[] all =
        [
            .. OptionChecks.Certificates(options, answered).Select(
                static one => new CertificateRequest(one.Names, one.Kind, CertificateFolder.NameOf(one.Names, one.Kind))),
        ];
        return all.GroupBy(static one => one.Folder).FirstOrDefault(static same => same.Count() > 1) is { } twice
            ? throw new AcmeConfigurationException($"A certificate for {string.Join(", ", twice.First().Names)} is configured twice.")
            : all;
    }
}
