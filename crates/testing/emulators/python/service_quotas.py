"""The two limits of an account on which a room depends, as a new account has them. LocalEmu knows none but those of
virtual networks.
"""

from localemu.runtime import hooks
from localemu.services.plugins import SERVICE_PLUGINS
from moto.servicequotas.models import ServiceQuotasBackend

QUOTAS = {("lambda", "L-B99A9384"): 1000.0, ("apigateway", "L-8A5B8E43"): 10000.0}


@hooks.on_infra_start()
def know_quotas():
    get = ServiceQuotasBackend.get_service_quota

    def get_or_known(self, service_code, quota_code):
        value = QUOTAS.get((service_code, quota_code))
        if value is None:
            return get(self, service_code, quota_code)
        return {"ServiceCode": service_code, "QuotaCode": quota_code, "Value": value, "Adjustable": True}

    ServiceQuotasBackend.get_service_quota = get_or_known
    # It is loaded by the first call, and of two at once one finds it half loaded.
    SERVICE_PLUGINS.require("service-quotas")
